// Several objects along time, each in its colour, with what is known of it as background: the paper's Figure 2.

import { edges, UNITS, yearOf } from "../axis.js";
import { axes, figure, follow, path } from "../chart.js";
import { svg, visible } from "../dom.js";
import { date, percent } from "../format.js";

export const COLOURS = 8;
const READ = 4; // lines that are read out at the pointer
const LETTER = 7.5; // pixels, about

/** `curves` are {name, colour, values, known}; `measure` says whether values are probabilities or scores. */
export function compareChart({ times, curves, measure, granularity, label }) {
  const unit = UNITS[granularity] ?? 1;
  const x = [yearOf(times[0]), yearOf(times.at(-1)) + unit];
  const all = curves.flatMap((curve) => curve.values);
  const y = measure === "probability" ? [0, 1] : [Math.min(...all, 0), Math.max(...all, 1)];
  const show = measure === "probability" ? percent : (value) => String(Math.round(value * 100) / 100);

  return figure(
    (width) => {
      const chart = axes(width, { height: width < 560 ? 300 : 380, x, y, yText: show });
      const { root } = chart;
      const clip = (at) => Math.min(Math.max(chart.x(at), chart.left), chart.right);
      const middle = (time) => chart.x(yearOf(time) + unit / 2);
      for (const curve of curves) {
        for (const known of curve.known) {
          const [left, right] = edges(known, unit, x).map(clip);
          if (right > left)
            root.append(
              svg("rect", {
                class: `term colour-${curve.colour}`,
                x: left,
                y: chart.top,
                width: right - left,
                height: chart.bottom - chart.top,
              }),
            );
        }
      }
      for (const curve of curves) {
        const points = times.map((time, i) => [middle(time), chart.y(curve.values[i])]);
        root.append(
          svg("path", { class: `line colour-${curve.colour}`, d: path(points), "data-name": visible(curve.name) }),
        );
      }
      root.append(...labels(curves, times, chart, middle));
      follow(chart, root, (at) => {
        const i = times.reduce(
          (kept, time, k) => (Math.abs(middle(time) - at) < Math.abs(middle(times[kept]) - at) ? k : kept),
          0,
        );
        const best = [...curves].sort((a, b) => b.values[i] - a.values[i]).slice(0, READ);
        return [
          middle(times[i]),
          [date(times[i]), ...best.map((curve) => `${visible(curve.name)}  ${show(curve.values[i])}`)],
        ];
      });
      return root;
    },
    { label },
  );
}

/** Each curve's name at its highest point, or near it, where there is room. */
function labels(curves, times, chart, middle) {
  const taken = [];
  const free = (box) =>
    box.top >= 0 &&
    !taken.some((one) => box.left < one.right && one.left < box.right && box.top < one.bottom && one.top < box.bottom);
  return curves.flatMap((curve) => {
    const name = visible(curve.name);
    const wide = name.length * LETTER;
    for (const i of heights(curve.values)) {
      const at = chart.y(curve.values[i]) - 7;
      const left = Math.min(Math.max(middle(times[i]) - wide / 2, chart.left), chart.right - wide);
      const box = { left, right: left + wide, top: at - 12, bottom: at + 3 };
      if (free(box)) {
        taken.push(box);
        return [svg("text", { class: `curvename colour-${curve.colour}`, x: left, y: at }, name)];
      }
    }
    return [];
  });
}

/** Where a curve is about as high as it gets, the highest first. */
function heights(values) {
  const top = Math.max(...values);
  const near = values.map((value, i) => [value, i]).filter(([value]) => value >= top - Math.abs(top) * 0.08);
  return near.sort(([a], [b]) => b - a).map(([, i]) => i);
}
