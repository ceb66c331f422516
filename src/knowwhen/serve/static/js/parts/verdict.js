// The answer to "does it hold then?": a probability, and what it rests on.

import { address } from "../address.js";
import { h } from "../dom.js";
import { percent, span } from "../format.js";

const RESTS = {
  known: "Known: a fact states it.",
  open: "Inferred: the fact is known, but only one end of its span.",
  undated: "Inferred: the fact is known, but not its time.",
  inferred: "Inferred: no fact states it.",
};

/** From an answer of /api/holds. */
export function verdict(found, asked) {
  const { subject, predicate, object } = asked;
  return h(
    "div",
    { class: `found verdict ${found.known ? "known" : "inferred"}` },
    h("p", { class: "lead" }, percent(found.probability), h("small", {}, "is the probability that this holds then")),
    h("span", { class: "bar wide", "aria-hidden": "true", vars: { "--share": found.probability } }, h("span", {})),
    h("p", {}, RESTS[found.basis], found.beyond ? " This is after the last date in the data." : ""),
    found.spans.length > 0 && h("p", {}, "Facts: ", found.spans.map(span).join("; "), "."),
    h("p", {}, h("a", { href: address("when", { subject, predicate, object }) }, "When does it hold?")),
    !found.calibrated &&
      !found.known &&
      h("p", { class: "note" }, "The percentage is not calibrated and may be far off."),
  );
}
