// A field for a name: what is seen is a label, what is asked with is a key.

import { get } from "../api.js";
import { chosenRun } from "../address.js";
import { h, visible } from "../dom.js";
import { complete } from "./completion.js";

const ASKED = "?";
let fields = 0;

/** The label of a key; the key itself where it has none. */
async function labelOf(kind, key) {
  const found = await get("/api/names", { q: key, kind, limit: 10, run: chosenRun() }).catch(() => ({ names: [] }));
  return found.names.find((name) => name.key === key)?.name ?? key;
}

/** A labelled field; `changed` is called when a name was chosen, or typed and left. */
export function nameField({ label, kind, value = "", placeholder = "", askable = false, changed }) {
  const id = `field-${++fields}`;
  const input = h("input", { id, type: "text", placeholder, size: 12 });
  let key = null; // of what the input shows, where it was chosen

  function set(name, chosenKey = null) {
    input.value = name === ASKED ? ASKED : visible(name);
    key = chosenKey;
    fit();
  }

  function fit() {
    input.size = Math.min(40, Math.max(input.value.length, input.placeholder.length, 2) + 1);
    input.classList.toggle("asked", input.value.trim() === ASKED);
  }

  function choose(option) {
    set(option.name, option.asks ? null : option.key);
    changed?.();
  }

  const extra = askable ? [{ name: ASKED, about: "ask for this", asks: true }] : [];
  const list = complete(input, { kind, choose, extra });
  input.addEventListener("input", () => {
    key = null;
    fit();
  });
  input.addEventListener("change", () => changed?.());
  input.addEventListener("focus", () => input.select());

  if (value === ASKED) set(ASKED);
  else if (value) {
    set(value, value);
    labelOf(kind, value).then((name) => {
      if (key === value) set(name, value);
    });
  } else fit();

  return {
    element: h("div", { class: `field ${kind}` }, h("label", { for: id }, label), input, list),
    input,
    set,
    get value() {
      return key ?? input.value.trim();
    },
    get shown() {
      return input.value.trim();
    },
    get isAsked() {
      return input.value.trim() === ASKED || input.value.trim() === "_";
    },
  };
}
