// Light or dark: as the system says, until someone chooses.

import { h } from "./dom.js";

const KEPT = "knowwhen-theme";
const root = document.documentElement;

function apply(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
}

const isDark = () =>
  (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

export function themeButton() {
  const button = h(
    "button",
    {
      type: "button",
      class: "theme",
      onclick: () => {
        const next = isDark() ? "light" : "dark";
        localStorage.setItem(KEPT, next);
        apply(next);
        name();
      },
    },
    h("span", { "aria-hidden": "true" }, "◐"),
  );
  const name = () => button.setAttribute("aria-label", isDark() ? "Switch to light" : "Switch to dark");
  name();
  return button;
}

apply(localStorage.getItem(KEPT));
