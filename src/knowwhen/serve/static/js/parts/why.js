// Why an answer: the facts that spoke for it, and what the data has on both sides of the question.

import { entityPath, get } from "../api.js";
import { chosenRun } from "../address.js";
import { h, fill, named, visible } from "../dom.js";
import { plural } from "../format.js";
import { factLine } from "./links.js";
import { loading, problem } from "./states.js";

const SHOWN = 12;
const MOST = 2000; // facts that are looked through

/** Fills a panel with the reasons of one answer. */
export async function why(panel, answer, found, asked) {
  fill(panel, loading("Looking for the facts behind this answer", 2));
  try {
    const [reasons, both] = await Promise.all([explanation(answer, found, asked), factsOfBoth(answer, found, asked)]);
    fill(panel, reasons && evidence(reasons), shared(both));
  } catch (error) {
    fill(panel, problem(error));
  }
}

/** What its score is made of; nothing for a date beyond the data, where no score is. */
async function explanation(answer, found, asked) {
  if (found.beyond) return null;
  const question = { ...asked, explain: true, candidates: [answer.key], top: 1, run: chosenRun() };
  const explained = await get("/api/ask", question);
  return explained.answers[0]?.reasons ?? null;
}

function evidence(reasons) {
  if (reasons.note || !reasons.facts.length) {
    const none = reasons.note
      ? "This model has no evidence terms, so it cannot name the facts behind an answer."
      : "No single fact supports this answer; it comes from the embeddings.";
    return h("p", { class: "note" }, none);
  }
  const most = Math.max(...reasons.facts.map((fact) => Math.abs(fact.value)), 1e-9);
  const facts = reasons.facts.slice(0, SHOWN);
  return h(
    "div",
    {},
    h("h4", {}, "Facts for and against it"),
    h(
      "ul",
      { class: "reasons" },
      facts.map((fact) =>
        h(
          "li",
          {},
          h("span", {
            class: fact.value < 0 ? "weight against" : "weight",
            "aria-hidden": "true",
            vars: { "--share": Math.abs(fact.value) / most },
          }),
          h("span", {}, factLine(fact, fact.lag && h("small", {}, ` ${fact.lag}`)), byWayOf(fact.path ?? [])),
          h("small", { class: "value" }, signed(fact.value)),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      `Embeddings: ${signed(reasons.decomposition)}`,
      reasons.others ? `; other facts: ${signed(reasons.others)}` : "",
      reasons.correction ? `; correction by the number of facts: ${signed(reasons.correction)}` : "",
      ".",
    ),
  );
}

/** The facts that lead from what was asked about to a fact about others. */
const byWayOf = (path) => path.map((fact) => h("small", { class: "path" }, "via ", factLine(fact)));

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

/** Known facts that name both the answer and what was asked about; where a predicate is asked for, subject and object. */
async function factsOfBoth(answer, found, asked) {
  const [about, partner] = {
    subject: [answer.key, asked.object],
    object: [answer.key, asked.subject],
    predicate: [asked.subject, asked.object],
  }[found.asks];
  const entity = await get(entityPath(about), { run: chosenRun(), limit: MOST });
  const facts = entity.facts.filter((fact) => [fact.other_key, fact.other].includes(partner));
  const asks = (fact) => [fact.predicate_key, fact.predicate].includes(asked.predicate);
  return { entity, partner, facts: [...facts.filter(asks), ...facts.filter((fact) => !asks(fact))] };
}

function shared({ entity, partner, facts }) {
  if (!facts.length)
    return h(
      "p",
      { class: "note" },
      "The data has no fact about both ",
      named(entity.name),
      " and ",
      named(visible(partner)),
      ".",
    );
  const lines = facts.slice(0, SHOWN).map((fact) => {
    const me = { name: entity.name, key: entity.key };
    const it = { name: fact.other, key: fact.other_key };
    const [s, o] = fact.side === "subject" ? [me, it] : [it, me];
    return h(
      "li",
      {},
      factLine({
        subject: s.name,
        predicate: fact.predicate,
        object: o.name,
        keys: [s.key, fact.predicate_key, o.key],
        begin: fact.begin,
        end: fact.end,
      }),
    );
  });
  return h(
    "div",
    {},
    h("h4", {}, "What the data says about both"),
    h("ul", { class: "reasons plain" }, lines),
    facts.length > SHOWN && h("p", { class: "note" }, `and ${plural(facts.length - SHOWN, "more fact")}`),
  );
}
