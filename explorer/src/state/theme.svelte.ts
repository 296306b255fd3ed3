/** Light, dark, or as the device says. */

export type Theme = "auto" | "light" | "dark";
const KEY = "wordtide-theme";
const DARK = matchMedia("(prefers-color-scheme: dark)");
const ORDER: Theme[] = ["auto", "light", "dark"];

class Appearance {
  theme: Theme = $state("auto");

  constructor() {
    this.set(remembered());
    DARK.addEventListener("change", () => this.set(this.theme));
  }

  next(): void {
    this.set(ORDER[(ORDER.indexOf(this.theme) + 1) % ORDER.length]);
    try {
      localStorage.setItem(KEY, this.theme);
    } catch {
      // a browser that remembers nothing: the choice holds until the page is closed
    }
  }

  private set(theme: Theme): void {
    this.theme = theme;
    // one of two for the style sheet, so that the dark colors stand there once
    document.documentElement.dataset.theme = theme === "auto" ? (DARK.matches ? "dark" : "light") : theme;
  }
}

function remembered(): Theme {
  try {
    return ORDER.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
  } catch {
    return "auto";
  }
}

export const appearance = new Appearance();
