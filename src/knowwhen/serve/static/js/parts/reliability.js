// A reliability plot: how often answers of a stated probability were right.

import { figure } from "../chart.js";
import { svg } from "../dom.js";
import { percent } from "../format.js";

/** `bins` are {confidence, accuracy, count}. */
export function reliability(bins, label) {
  const most = Math.max(...bins.map((bin) => bin.count), 1);
  return figure(
    (width) => {
      const size = Math.min(width, 380);
      const [left, top, side] = [44, 10, size - 64];
      const x = (value) => left + value * side;
      const y = (value) => top + (1 - value) * side;
      const root = svg("svg", {
        width: size,
        height: side + 56,
        viewBox: `0 0 ${size} ${side + 56}`,
        class: "figure",
        "aria-hidden": "true",
      });
      for (const value of [0, 0.25, 0.5, 0.75, 1]) {
        root.append(
          svg("line", { class: "grid", x1: x(0), x2: x(1), y1: y(value), y2: y(value) }),
          svg("text", { class: "tick", x: x(0) - 8, y: y(value) + 4, "text-anchor": "end" }, `${value * 100}`),
          svg("text", { class: "tick", x: x(value), y: y(0) + 18, "text-anchor": "middle" }, `${value * 100}`),
        );
      }
      root.append(
        svg("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
        svg(
          "text",
          { class: "tick", x: x(0.5), y: y(0) + 38, "text-anchor": "middle" },
          "confidence (%) and accuracy (%)",
        ),
      );
      for (const bin of bins) {
        root.append(
          svg(
            "circle",
            { class: "bin", cx: x(bin.confidence), cy: y(bin.accuracy), r: 2.5 + 7 * Math.sqrt(bin.count / most) },
            svg("title", {}, `stated ${percent(bin.confidence)}, right ${percent(bin.accuracy)}, ${bin.count} answers`),
          ),
        );
      }
      return root;
    },
    { label },
  ).element;
}
