/** The address bar and the page: what one says, the other shows. */

import { formatRoute, parseRoute, type Route } from "./route";

const WRITTEN_AFTER = 200; // milliseconds: browsers refuse addresses that change faster, as they would while scrubbing

class Navigation {
  route: Route = $state.raw(parseRoute(location.hash));
  private waiting = 0;

  constructor() {
    const read = (): void => {
      window.clearTimeout(this.waiting);
      this.route = parseRoute(location.hash);
    };
    window.addEventListener("hashchange", read);
    window.addEventListener("popstate", read);
  }

  /** Go to another place: back returns. */
  go(route: Partial<Route>): void {
    this.flush();
    location.hash = formatRoute(route);
  }

  /** Change what is shown here: back does not return to it. */
  change(part: Partial<Route>): void {
    this.route = { ...this.route, ...part };
    window.clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.flush(), WRITTEN_AFTER);
  }

  /** The address of what is shown now. */
  address(): string {
    this.flush();
    return location.href;
  }

  private flush(): void {
    window.clearTimeout(this.waiting);
    const hash = formatRoute(this.route);
    if (parseable(location.hash) !== hash) history.replaceState(history.state, "", hash);
  }
}

function parseable(hash: string): string {
  return hash === "" ? "#/" : hash;
}

export const navigation = new Navigation();
