// Completion as you type: an input with a list of names below, for mouse, keyboard and screen reader.

import { get, isOutdated, latest } from "../api.js";
import { chosenRun } from "../address.js";
import { h, fill, named, visible } from "../dom.js";
import { plural } from "../format.js";

let boxes = 0;

/** Makes an input complete names of a kind; `choose` gets {key, name}. `extra` are choices that always come first. */
export function complete(input, { kind, choose, extra = [] }) {
  const id = `names-${++boxes}`;
  const list = h("ul", { id, role: "listbox", class: "names", hidden: true, tabindex: -1, "aria-label": "Names" });
  const only = latest();
  let options = [];
  let active = -1;
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": id,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  }))
    input.setAttribute(name, value);

  function close() {
    only(async () => null); // names that are still on their way come too late
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(index) {
    active = index;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
    if (index < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `${id}-${index}`);
    list.children[index].scrollIntoView({ block: "nearest" });
  }

  function take(index) {
    const option = options[index];
    close();
    choose(option);
  }

  function show(names) {
    options = [...extra, ...names];
    fill(
      list,
      options.map((option, i) =>
        h(
          "li",
          {
            id: `${id}-${i}`,
            role: "option",
            "aria-selected": "false",
            class: option.asks ? "asks" : undefined,
            onpointerdown: (event) => {
              event.preventDefault();
              take(i);
            },
            onpointermove: () => active !== i && mark(i),
          },
          named(option.name),
          option.matched && option.matched !== option.name && h("small", {}, visible(option.matched)),
          h("small", {}, option.about ?? plural(option.facts, "fact")),
        ),
      ),
    );
    list.hidden = options.length === 0;
    active = -1;
    input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-expanded", String(options.length > 0));
  }

  async function look(text) {
    try {
      const q = text === "?" ? "" : text;
      const found = await only((signal) => get("/api/names", { q, kind, limit: 8, run: chosenRun() }, signal));
      if (document.activeElement === input) show(found.names);
    } catch (error) {
      if (!isOutdated(error)) close(); // the question itself will say what is wrong
    }
  }

  input.addEventListener("input", () => look(input.value));
  input.addEventListener("click", () => list.hidden && look(input.value));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      if (list.hidden) look(input.value);
      else mark((active + move + options.length) % options.length);
    } else if (event.key === "Enter" && active >= 0) {
      event.preventDefault();
      take(active);
    } else if (event.key === "Tab") {
      close(); // before the focus moves: a list that scrolls would take it
    } else if (event.key === "Escape") {
      if (!list.hidden) {
        event.preventDefault();
        event.stopPropagation();
      }
      close(); // names that are still on their way too
    }
  });
  return list;
}
