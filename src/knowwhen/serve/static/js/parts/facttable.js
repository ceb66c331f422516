// All facts of an entity as a table, made when it is opened.

import { address } from "../address.js";
import { h, fill, named } from "../dom.js";
import { plural, span } from "../format.js";
import { entityLink } from "./links.js";

const MOST = 500;

export function factTable(found) {
  const row = (fact) => {
    const me = named(found.name);
    const it = entityLink(fact.other, fact.other_key);
    const [s, o] = fact.side === "subject" ? [found.key, fact.other_key] : [fact.other_key, found.key];
    return h(
      "tr",
      {},
      h("td", {}, fact.side === "subject" ? me : it),
      h("td", {}, named(fact.predicate)),
      h("td", {}, fact.side === "subject" ? it : me),
      h(
        "td",
        {},
        h(
          "a",
          { href: address("when", { subject: s, predicate: fact.predicate_key, object: o }) },
          span([fact.begin, fact.end]),
        ),
      ),
    );
  };
  const body = h("tbody", {});
  const details = h(
    "details",
    {
      class: "all",
      ontoggle: () => details.open && !body.hasChildNodes() && fill(body, found.facts.slice(0, MOST).map(row)),
    },
    h("summary", {}, "All facts as a table"),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All facts" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Subject", "Predicate", "Object", "Time"].map((text) => h("th", { scope: "col" }, text)),
          ),
        ),
        body,
      ),
    ),
    found.facts.length > MOST && h("p", { class: "note" }, `The first ${plural(MOST, "fact")}.`),
  );
  return details;
}
