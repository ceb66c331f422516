// What stands where there is no answer: yet, at all, or because something is wrong.

import { rememberKey } from "../api.js";
import { h, say, visible } from "../dom.js";

/** Grey lines in the shape of what is to come; a screen reader hears the text. */
export function loading(text = "Loading", lines = 4) {
  return h(
    "div",
    { class: "state loading", role: "status" },
    h("p", {}, `${text} …`),
    Array.from({ length: lines }, (_, i) =>
      h("span", { class: "bone", vars: { "--wide": `${88 - ((i * 23) % 50)}%` } }),
    ),
  );
}

/** Nothing was asked yet, or nothing was found: what it is, and what to do. */
export const empty = (title, ...more) => h("div", { class: "state" }, h("h2", {}, title), ...more);

/** A problem in the server's own words, with names that may have been meant as buttons. */
export function problem(error, { choose, retry } = {}) {
  say(error.message);
  if (error.status === 401) return keyForm(error, retry);
  const suggestions = (choose && error.suggestions) || [];
  return h(
    "div",
    { class: "state problem", role: "alert" },
    h("h2", {}, error.status === 404 ? "Not found" : error.status ? "Error" : "No connection"),
    h("p", {}, visible(error.message)),
    suggestions.length > 0 &&
      h(
        "p",
        { class: "suggestions" },
        suggestions.map((name) =>
          h("button", { type: "button", class: "chip", onclick: () => choose(name) }, visible(name)),
        ),
      ),
    retry &&
      !suggestions.length &&
      h("p", {}, h("button", { type: "button", class: "quiet", onclick: retry }, "Try again")),
  );
}

function keyForm(error, retry) {
  const input = h("input", { type: "password", id: "key", autocomplete: "off", required: true });
  const submit = (event) => {
    event.preventDefault();
    rememberKey(input.value.trim());
    if (retry) retry();
    else location.reload();
  };
  return h(
    "form",
    { class: "state problem", onsubmit: submit },
    h("h2", {}, "This server needs a key"),
    h("p", {}, "Ask its owner for one. The key is kept in this tab and sent with every request."),
    h("p", { class: "line" }, h("label", { for: "key" }, "Key"), input, h("button", { class: "primary" }, "Open")),
  );
}
