// The time of a question: any time, a date, a range, or asked for; typed, or dragged along the axis.

import { h, fill } from "../dom.js";
import { date } from "../format.js";
import { indexOf, yearOf } from "../axis.js";

const MODES = [
  ["date", "a date"],
  ["range", "a range"],
  ["any", "any time"],
  ["asked", "when?"],
];
let fields = 0;

function modeOf(text) {
  if (!text) return "any";
  if (text === "?" || text === "_") return "asked";
  return text.includes("..") ? "range" : "date";
}

/** A field for the sentence and a panel with sliders; `changed(dragging)` is called with every move. */
export function timeField({ times, value = "", label = "time", modes = ["date", "range", "any", "asked"], changed }) {
  const id = `time-${++fields}`;
  const input = h("input", {
    id,
    type: "text",
    placeholder: "any time",
    autocomplete: "off",
    spellcheck: "false",
    size: 9,
  });
  const last = times.length - 1;
  const from = slider("From", 0);
  const to = slider("To", last);
  const track = h("div", { class: "track" }, from, to);
  const choice = h(
    "fieldset",
    { class: "modes" },
    h("legend", { class: "unseen" }, "Kind of time"),
    MODES.filter(([mode]) => modes.includes(mode)).map(([mode, text]) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name: `${id}-mode`, value: mode, onchange: () => setMode(mode) }),
        h("span", {}, text),
      ),
    ),
  );
  const panel = h("div", { class: "timepanel" }, choice, track, ticks(times));
  let mode = "any";

  function slider(name, at) {
    return h("input", {
      type: "range",
      min: 0,
      max: Math.max(last, 0),
      step: 1,
      value: at,
      "aria-label": name,
      oninput: () => drag(true),
      onchange: () => drag(false),
    });
  }

  function drag(dragging) {
    let [a, z] = [Number(from.value), Number(to.value)];
    if (mode === "range" && a > z) [a, z] = [z, a];
    input.value = mode === "range" ? `${times[a]}..${times[z]}` : times[Number(from.value)];
    paint();
    changed(dragging);
  }

  function setMode(next) {
    const middle = Number(from.value);
    if (next === "any") input.value = "";
    else if (next === "asked") input.value = "?";
    else if (next === "date") input.value = times[middle];
    else {
      const width = Math.max(1, Math.round(times.length / 8));
      input.value = `${times[middle]}..${times[Math.min(last, middle + width)]}`;
    }
    read();
    changed(false);
  }

  /** Sliders follow what was typed. */
  function read() {
    const text = input.value.trim();
    mode = modeOf(text);
    if (mode === "date" || mode === "range") {
      const [a, z] = text.split("..");
      from.value = Math.max(0, indexOf(times, a));
      to.value = Math.max(0, indexOf(times, z ?? a));
    }
    paint();
  }

  function paint() {
    const [a, z] = [Number(from.value), Number(to.value)];
    track.dataset.mode = mode;
    track.style.setProperty("--from", last ? Math.min(a, z) / last : 0);
    track.style.setProperty("--to", last ? Math.max(a, z) / last : 0);
    from.disabled = mode === "any" || mode === "asked";
    to.hidden = mode !== "range";
    from.setAttribute("aria-label", mode === "range" ? "From" : "Date");
    for (const one of [from, to]) one.setAttribute("aria-valuetext", date(times[Number(one.value)] ?? ""));
    input.size = Math.max(input.value.length, input.value ? 4 : 8) + 1;
    input.classList.toggle("asked", mode === "asked");
    for (const radio of choice.querySelectorAll("input")) radio.checked = radio.value === mode;
  }

  input.value = value;
  from.value = Math.round(last * 0.6);
  input.addEventListener("input", read);
  input.addEventListener("change", () => {
    read();
    changed(false);
  });
  input.addEventListener("focus", () => input.select());
  read();
  return {
    element: h("div", { class: "field time" }, h("label", { for: id }, label), input),
    panel: times.length ? panel : fill(panel),
    input,
    set(text) {
      input.value = text;
      read();
    },
    get value() {
      return input.value.trim();
    },
    get isAsked() {
      return modeOf(input.value.trim()) === "asked";
    },
    get isBeyond() {
      const text = input.value.trim();
      return modeOf(text) === "date" && yearOf(text) > yearOf(times[last]) && !text.startsWith(times[last]);
    },
  };
}

/** A few dates below the sliders. */
function ticks(times) {
  const count = Math.min(7, times.length);
  const at = Array.from({ length: count }, (_, i) => Math.round((i * (times.length - 1)) / Math.max(1, count - 1)));
  return h(
    "div",
    { class: "ticks", "aria-hidden": "true" },
    at.map((i) => h("span", { vars: { "--at": times.length > 1 ? i / (times.length - 1) : 0 } }, date(times[i]))),
  );
}
