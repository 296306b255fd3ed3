/** Light, dark, or as the device says. */

export type Theme = "auto" | "light" | "dark";
const KEY = "wordtide-theme";
const ORDER: Theme[] = ["auto", "light", "dark"];

class Appearance {
  theme: Theme = $state("auto");

  constructor() {
    this.set(remembered());
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
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
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
