import "./app.css";
import { askingOf, type Asking } from "./asking";
import { findHost } from "./data/hosts";
import { mountExplorer } from "./mount";

declare global {
  interface Window {
    readonly wordtide: Asking;
  }
}

const target = document.getElementById("explorer");
if (!target) throw new Error("The page has no place for the explorer.");
const opened = mountExplorer(target, findHost(document));
Object.defineProperty(window, "wordtide", { value: askingOf(opened), writable: false, configurable: false });
