// Facts and names as links: every name leads to its page, every fact to its time.

import { address, entityAddress } from "../address.js";
import { h, named, visible } from "../dom.js";
import { span } from "../format.js";

export const entityLink = (name, key, attributes) => h("a", { href: entityAddress(key), ...attributes }, named(name));

/** A fact with `keys` as a line: its names, its span, and where its time is looked at. */
export function factLine(fact, ...more) {
  const [s, p, o] = fact.keys;
  return h(
    "span",
    { class: "fact" },
    entityLink(fact.subject, s),
    " ",
    named(fact.predicate, { class: "predicate" }),
    " ",
    entityLink(fact.object, o),
    " ",
    h(
      "a",
      {
        class: "dates",
        href: address("when", { subject: s, predicate: p, object: o }),
        "aria-label": `When: ${visible(fact.subject)} ${visible(fact.predicate)} ${visible(fact.object)}, ${span([fact.begin, fact.end])}`,
      },
      span([fact.begin, fact.end]),
    ),
    ...more,
  );
}
