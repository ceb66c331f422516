// Something to start with: questions made of facts that the data has.

import { entityPath, get } from "../api.js";
import { address, chosenRun } from "../address.js";
import { h, named } from "../dom.js";
import { date, number } from "../format.js";

/** A dated fact about an entity that has many, as subject, predicate and object with key and name. */
export async function startingFacts(count = 3) {
  const { names } = await get("/api/names", { limit: 6, run: chosenRun() });
  const entities = await Promise.all(
    names.slice(0, 6).map((name) => get(entityPath(name.key), { limit: 300, run: chosenRun() })),
  );
  const found = [];
  for (const entity of entities) {
    const facts = entity.facts.filter((fact) => fact.begin && fact.side === "subject");
    const lanes = Map.groupBy ? Map.groupBy(facts, (fact) => fact.predicate_key) : grouped(facts);
    const [, most] = [...lanes].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
    const fact = most?.[Math.floor(most.length * 0.6)];
    if (fact) {
      found.push({
        subject: { key: entity.key, name: entity.name },
        predicate: { key: fact.predicate_key, name: fact.predicate },
        object: { key: fact.other_key, name: fact.other },
        time: fact.begin,
      });
    }
    if (found.length === count) break;
  }
  return found;
}

function grouped(facts) {
  const lanes = new Map();
  for (const fact of facts) lanes.set(fact.predicate_key, [...(lanes.get(fact.predicate_key) ?? []), fact]);
  return lanes;
}

/** The empty state of Ask: what this is, and questions to click. */
export async function examples(info) {
  const facts = await startingFacts();
  const { data } = info;
  const lines = facts.flatMap((fact, i) => [line(fact, ["object", "subject", "time"][i % 3])]);
  const [first] = facts;
  return h(
    "div",
    { class: "state start" },
    h("h2", {}, "What would you like to know?"),
    h(
      "p",
      {},
      `Choose names above and put ? where you want the answer. The model was trained on `,
      `${number(data.train)} facts about ${number(data.entities)} entities`,
      data.first ? `, ${date(data.first)} to ${date(data.last)}` : "",
      ". It also gives answers that no fact states, marked as inferred.",
    ),
    lines.length > 0 &&
      h(
        "ul",
        { class: "starters" },
        lines,
        first &&
          h(
            "li",
            {},
            h(
              "a",
              { href: address("compare", { subject: first.subject.key, predicate: first.predicate.key }) },
              h("span", {}, named(first.subject.name), " ", named(first.predicate.name), " …"),
              h("small", {}, "all of them along time"),
            ),
          ),
        first &&
          h(
            "li",
            {},
            h(
              "a",
              { href: address("entity", { key: first.subject.key }) },
              named(first.subject.name),
              h("small", {}, "all its facts on a timeline"),
            ),
          ),
      ),
  );
}

function line(fact, asks) {
  const parameters = {
    subject: fact.subject.key,
    predicate: fact.predicate.key,
    object: fact.object.key,
    time: fact.time,
    [asks]: "?",
  };
  const part = (place) =>
    place === asks ? h("b", {}, "?") : place === "time" ? date(fact.time) : named(fact[place].name);
  const about = { object: "which one was it?", subject: "whose was it?", time: "when was it?" }[asks];
  return h(
    "li",
    {},
    h(
      "a",
      { href: asks === "time" ? address("when", { ...parameters, time: "" }) : address("ask", parameters) },
      h("span", {}, part("subject"), " ", part("predicate"), " ", part("object"), ", ", part("time")),
      h("small", {}, about),
    ),
  );
}
