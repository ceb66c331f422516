// Who stands near an entity: in the facts, and in the model.

import { get } from "../api.js";
import { chosenRun } from "../address.js";
import { h, fill, visible } from "../dom.js";
import { number } from "../format.js";
import { entityLink } from "./links.js";

/** Those it shares most facts with, and those that the model holds for similar. */
export function neighbours(found) {
  const counts = new Map();
  for (const fact of found.facts) {
    const one = counts.get(fact.other_key) ?? { name: fact.other, key: fact.other_key, count: 0 };
    counts.set(fact.other_key, { ...one, count: one.count + 1 });
  }
  const near = [...counts.values()]
    .filter((one) => one.key !== found.key)
    .sort((a, b) => b.count - a.count)
    .slice(0, 10);
  const alike = h("ul", { class: "cloud" });
  get("/api/similar", { entity: found.key, top: 10, run: chosenRun() })
    .then(({ neighbours: all }) =>
      fill(
        alike,
        all.map((one) => h("li", {}, entityLink(one.name, one.key), h("small", {}, one.similarity.toFixed(2)))),
      ),
    )
    .catch((error) => fill(alike, h("li", { class: "note" }, visible(error.message))));
  return h(
    "section",
    { class: "neighbours" },
    h("h2", {}, "Neighbours"),
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        {},
        h("h3", {}, "Most facts in common"),
        h(
          "ul",
          { class: "cloud" },
          near.map((one) => h("li", {}, entityLink(one.name, one.key), h("small", {}, number(one.count)))),
        ),
      ),
      h("div", {}, h("h3", {}, "Similar embeddings", h("small", {}, "cosine")), alike),
    ),
  );
}
