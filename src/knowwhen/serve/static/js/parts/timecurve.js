// The answer to "at what time?": the curve of the question, its spans and what is known.

import { address } from "../address.js";
import { h } from "../dom.js";
import { date, percent, span } from "../format.js";
import { timeChart } from "./timechart.js";

/** From an answer of /api/ask with ? as time. */
export function timeCurve(found, asked, info) {
  const [best] = found.spans;
  const top = Math.max(...found.probabilities, 1e-9);
  return h(
    "div",
    { class: "found" },
    h(
      "p",
      { class: "lead" },
      best ? span([best.begin, best.end]) : date(found.best),
      h(
        "small",
        {},
        found.known.length && best?.probability === 1
          ? "known: the data has the dates"
          : best
            ? `probability inside this span: ${percent(best.probability)}`
            : "the most probable time",
      ),
    ),
    timeChart({
      times: found.times,
      values: found.probabilities.map((value) => value / top),
      known: found.known.filter(([begin, end]) => begin || end),
      best: best ? [[best.begin, best.end]] : [],
      granularity: info.data.granularity,
      label: `Along time; most probable in ${date(found.best)}`,
      caption: "How well each time fits, relative to the best.",
    }),
    found.spans.length > 1 &&
      h(
        "p",
        {},
        "Or ",
        found.spans
          .slice(1)
          .map((one, i) => [i ? ", " : "", `${span([one.begin, one.end])} (${percent(one.probability)})`]),
        ".",
      ),
    info.model.time_head
      ? h(
          "p",
          {},
          h(
            "a",
            { href: address("when", { subject: asked.subject, predicate: asked.predicate, object: asked.object }) },
            "More on its begin and end",
          ),
        )
      : h("p", { class: "note" }, "This model has no time head; the span comes from the curve."),
  );
}
