// Figures as SVG: axes over time, and drawing again when the width changes.

import { h, fill, svg } from "./dom.js";
import { marks } from "./axis.js";

/** An element whose figure is drawn for the width it has; `draw(width)` gives the SVG. */
export function figure(draw, { label, caption } = {}) {
  const canvas = h("div", { class: "canvas", role: "img", "aria-label": label });
  let width = 0;
  const redraw = () => width && fill(canvas, draw(width));
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      redraw();
    }
  }).observe(canvas);
  return { element: h("figure", { class: "chart" }, canvas, caption && h("figcaption", {}, caption)), redraw, canvas };
}

/** Axes of a figure over time: {root, x, y, left, right, top, bottom}. y is drawn from `y[0]` to `y[1]`. */
export function axes(width, { height, x: [first, last], y: [low, high] = [0, 1], yText, below = 0 }) {
  const [left, right, top, bottom] = [46, width - 14, 12, height - 26 - below];
  const x = (at) => left + ((at - first) / (last - first || 1)) * (right - left);
  const y = (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - top);
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "figure", "aria-hidden": "true" });
  for (const value of levels(low, high)) {
    root.append(
      svg("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, yText(value)),
    );
  }
  for (const { at, text } of marks(first, last, Math.max(2, (right - left) / 66))) {
    root.append(
      svg("line", { class: "tickline", x1: x(at), x2: x(at), y1: bottom, y2: bottom + 5 }),
      svg("text", { class: "tick", x: x(at), y: bottom + 19, "text-anchor": "middle" }, text),
    );
  }
  root.append(svg("line", { class: "baseline", x1: left, x2: right, y1: bottom, y2: bottom }));
  return { root, x, y, left, right, top, bottom, width };
}

/** Four or five round levels between two numbers. */
function levels(low, high) {
  const rough = (high - low) / 4 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= rough - 1e-12);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; i++) found.push(i * step);
  return found;
}

/** A path through points; a gap where a point is not a number. */
export const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** A line of reading that follows the pointer: `read(x)` gives [x, lines of text] for the nearest point, or null. */
export function follow(chart, root, read) {
  const rule = svg("line", { class: "rule", y1: chart.top, y2: chart.bottom, visibility: "hidden" });
  const box = svg("rect", { class: "readbox", rx: 4, visibility: "hidden" });
  const text = svg("text", { class: "readtext", visibility: "hidden" });
  root.append(rule, box, text);
  const hide = () => [rule, box, text].forEach((one) => one.setAttribute("visibility", "hidden"));
  root.addEventListener("pointerleave", hide);
  root.addEventListener("pointermove", (event) => {
    const found = read(event.clientX - root.getBoundingClientRect().left);
    if (!found) return hide();
    const [at, lines] = found;
    rule.setAttribute("x1", at);
    rule.setAttribute("x2", at);
    fill(
      text,
      lines.map((line, i) => svg("tspan", { x: 0, dy: i ? 17 : 0 }, line)),
    );
    const wide = Math.max(...[...text.children].map((one) => one.getComputedTextLength())) + 18;
    const from = at + 12 + wide > chart.right ? at - 12 - wide : at + 12;
    for (const part of text.children) part.setAttribute("x", from + 9);
    text.setAttribute("y", chart.top + 20);
    for (const [name, value] of Object.entries({
      x: from,
      y: chart.top + 3,
      width: wide,
      height: lines.length * 17 + 10,
    }))
      box.setAttribute(name, value);
    [rule, box, text].forEach((one) => one.setAttribute("visibility", "visible"));
  });
}
