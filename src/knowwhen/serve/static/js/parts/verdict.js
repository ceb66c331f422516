// The answer to "does it hold then?": a probability, and what it rests on.

import { address } from "../address.js";
import { h } from "../dom.js";
import { percent, span } from "../format.js";

const RESTS = {
  known: "Known: a fact says so.",
  open: "Inferred: one end of its span is known, the other is not.",
  undated: "Inferred: the fact is known, its time is not.",
  inferred: "Inferred: no fact says so.",
};

/** From an answer of /api/holds. */
export function verdict(found, asked) {
  const { subject, predicate, object } = asked;
  return h(
    "div",
    { class: `found verdict ${found.known ? "known" : "inferred"}` },
    h("p", { class: "lead" }, percent(found.probability), h("small", {}, "is the chance that this holds then")),
    h("span", { class: "bar wide", "aria-hidden": "true", vars: { "--share": found.probability } }, h("span", {})),
    h("p", {}, RESTS[found.basis], found.beyond ? " The date lies beyond the data." : ""),
    found.spans.length > 0 && h("p", {}, "The facts give: ", found.spans.map(span).join("; "), "."),
    h("p", {}, h("a", { href: address("when", { subject, predicate, object }) }, "When does it hold?")),
    !found.calibrated &&
      !found.known &&
      h("p", { class: "note" }, "The percentage is not calibrated: it may be far off."),
  );
}
