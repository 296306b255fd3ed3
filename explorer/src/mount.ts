/** Put the explorer into an element. */

import { mount } from "svelte";
import App from "./App.svelte";
import type { Host } from "./data/hosts";
import { Store } from "./data/store";
import { Model } from "./state/model";

/** Reads the model's header and shows the page; promises a model that can be asked. What goes wrong is told on the page. */
export async function mountExplorer(target: Element, host: Host): Promise<Model> {
  try {
    const model = new Model(await Store.open(host));
    target.replaceChildren();
    mount(App, { target, props: { model } });
    if (host.embedded) void model.store.all().then(() => model.store.story(0)); // large: begin before they are asked for
    return model;
  } catch (error) {
    const message = document.createElement("p");
    message.className = "opening";
    message.setAttribute("role", "alert");
    message.textContent = `The page cannot be opened. ${error instanceof Error ? error.message : String(error)}`;
    target.replaceChildren(message);
    throw error;
  }
}

