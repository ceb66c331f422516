// Elements from values. Text is always set as text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "vars") {
      for (const [variable, set] of Object.entries(value)) element.style.setProperty(variable, set);
    } else if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), value);
    } else if (name === "value") {
      element.value = value;
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** An HTML element: h("a", {href}, "text", child). `vars` sets CSS variables, `onclick` and the like listen. */
export const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const svg = (tag, attributes, ...children) => build(document.createElementNS(SVG, tag), attributes, children);

/** Puts children in the place of what is there. */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return parent;
}

// Control characters, and marks that turn the direction of text, are shown as their code.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** A name as people can see all of it. */
export function visible(text) {
  return String(text).replace(UNSEEN, (mark) => `\\u${mark.codePointAt(0).toString(16).padStart(4, "0")}`);
}

/** A name as an element whose direction of writing stays its own. */
export const named = (text, attributes) => h("bdi", attributes, visible(text));

/** Tells a screen reader what changed. */
export function say(text) {
  document.getElementById("said").textContent = text;
}
