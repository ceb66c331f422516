// A curve along time with what is known, the best span, the ranges of its ends, and what may come after the data.

import { edges, UNITS, yearOf } from "../axis.js";
import { axes, figure, follow, path } from "../chart.js";
import { svg } from "../dom.js";
import { date, percent } from "../format.js";

const HEIGHT = 290;
const LANES = { known: "known", best: "best", begin: "begin", end: "end" };

/**
 * `times` and `values` are the curve, `known` and `best` lists of spans, `ranges` the 80 % ranges of begin and end by their
 * name, and `beyond` the curve after the last time: {times, values}.
 */
export function timeChart({ times, values, known = [], best = [], ranges = {}, beyond, granularity, label, caption }) {
  const unit = UNITS[granularity] ?? 1;
  const [first, last] = [yearOf(times[0]), yearOf(times.at(-1)) + unit];
  const end = beyond ? yearOf(beyond.times.at(-1)) + unit : last;
  const lanes = Object.entries(LANES).filter(([name]) => ({ known: known.length, best: best.length, ...ranges })[name]);

  function draw(width) {
    const below = 8 + lanes.length * 17;
    const chart = axes(width, { height: HEIGHT + below, x: [first, end], yText: percent, below });
    const { root, x, y, bottom, top } = chart;
    const middle = (time) => x(yearOf(time) + unit / 2);
    if (beyond) {
      root.append(
        svg("rect", { class: "beyond", x: x(last), y: top, width: x(end) - x(last), height: bottom - top }),
        ...(x(end) - x(last) > 100
          ? [svg("text", { class: "tick", x: x(last) + 6, y: top + 14 }, "beyond the data")]
          : []),
      );
    }
    for (const span of best) root.append(block("bestband", span, top, bottom - top));
    const points = times.map((time, i) => [middle(time), y(values[i])]);
    root.append(
      svg("path", { class: "area", d: `${path([[points[0][0], bottom], ...points, [points.at(-1)[0], bottom]])}Z` }),
      svg("path", { class: "curve", d: path(points) }),
    );
    if (beyond) {
      const later = beyond.times.map((time, i) => [middle(time), y(beyond.values[i])]);
      root.append(svg("path", { class: "curve later", d: path([points.at(-1), ...later]) }));
    }
    lanes.forEach(([name, text], i) => {
      const at = bottom + 30 + i * 17;
      root.append(svg("text", { class: "lane", x: chart.left - 8, y: at + 8, "text-anchor": "end" }, text));
      if (name === "known") known.forEach((span) => root.append(...knownBar(span, at)));
      else if (name === "best") best.forEach((span) => root.append(block("best", span, at, 9)));
      else root.append(whisker(ranges[name], at + 4.5));
    });
    follow(chart, root, (at) => {
      const all = beyond ? [...times, ...beyond.times] : times;
      const nearest = all.reduce(
        (kept, time, i) => (Math.abs(middle(time) - at) < Math.abs(middle(all[kept]) - at) ? i : kept),
        0,
      );
      const value = nearest < times.length ? values[nearest] : beyond.values[nearest - times.length];
      return [middle(all[nearest]), [date(all[nearest]), percent(value)]];
    });
    return root;

    function block(kind, span, from, height) {
      const [left, right] = edges(span, unit, [first, last]).map(x);
      return svg("rect", { class: kind, x: left, y: from, width: Math.max(2, right - left), height });
    }

    function knownBar([a, z], at) {
      const arrow = (tip, side) =>
        svg("path", { class: "known", d: `M${tip} ${at - 2}L${tip + 7 * side} ${at + 4.5}L${tip} ${at + 11}Z` });
      return [block("known", [a, z], at, 9), !a && arrow(x(first), -1), !z && arrow(x(last), 1)].filter(Boolean);
    }

    function whisker([a, z], at) {
      const [left, right] = [x(yearOf(a)), x(yearOf(z) + unit)];
      return svg("path", {
        class: "whisker",
        d: `M${left} ${at - 4}V${at + 4}M${left} ${at}H${right}M${right} ${at - 4}V${at + 4}`,
      });
    }
  }
  return figure(draw, { label, caption }).element;
}
