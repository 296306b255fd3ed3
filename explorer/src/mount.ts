/** Put the explorer into an element. */

import { mount, unmount } from "svelte";
import App from "./App.svelte";
import type { Host } from "./data/hosts";
import { Store } from "./data/store";
import { contextOf, Model } from "./state/model";
import { navigation } from "./state/navigating.svelte";
import Word from "./views/Word.svelte";

const REHEARSED_FOR = 120; // milliseconds: until sentence and curves are drawn

/** Reads the model's header and shows the page; promises a model that can be asked. What goes wrong is told on the page. */
export async function mountExplorer(target: Element, host: Host): Promise<Model> {
  try {
    const model = new Model(await Store.open(host));
    target.replaceChildren();
    mount(App, { target, props: { model } });
    if (host.embedded) void beginEarly(model);
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

/** Large parts are read and lengths worked out before they are asked for, and a story is drawn once where nobody sees it: the first one pays for the
 * compiling of its code and the shaping of its letters, so it should not be the reader's. */
async function beginEarly(model: Model): Promise<void> {
  await model.store.measureAll();
  await model.store.story(0);
  await model.store.examples(0);
  await new Promise((done) => setTimeout(done, 0));
  if (navigation.route.view === "word") return;
  const stage = document.createElement("div");
  stage.className = "rehearsal";
  stage.inert = true;
  stage.setAttribute("aria-hidden", "true");
  document.body.append(stage);
  const view = mount(Word, { target: stage, props: { number: 0 }, context: contextOf(model) });
  await new Promise((done) => setTimeout(done, REHEARSED_FOR));
  await unmount(view);
  stage.remove();
}
