// The model: what it was trained on, how good it is by which protocol, and what it cannot know.

import { get } from "../api.js";
import { chosenRun } from "../address.js";
import { h, fill, named, visible } from "../dom.js";
import { date, number, percent, plural } from "../format.js";
import { reliability } from "../parts/reliability.js";
import { loading, problem } from "../parts/states.js";

const KINDS = {
  events: "events (at one time)",
  intervals: "intervals (begin and end)",
  half_open: "half-open (only a begin or an end)",
  static: "static (no dates)",
};
const RARE = 10;

export function model(main, { info }) {
  const measured = h("div", {});
  fill(
    main,
    h(
      "article",
      { class: "modelpage" },
      h("h1", {}, "The model behind this page"),
      h("p", { class: "intro" }, introduction(info)),
      h("div", { class: "columns" }, dataSection(info), modelSection(info)),
      h("section", { "aria-labelledby": "how-good" }, h("h2", { id: "how-good" }, "How good it is"), measured),
      limitsSection(info),
      h(
        "details",
        { class: "all" },
        h("summary", {}, "Model card with all settings"),
        h("pre", { tabindex: 0, "aria-label": "Model card" }, visible2(info.card)),
      ),
    ),
  );
  measure(measured, info.data.granularity);
}

/** Lines stay lines. */
const visible2 = (text) => text.split("\n").map(visible).join("\n");

function introduction({ data, model: about }) {
  return [
    `It was trained on ${number(data.train)} facts about ${number(data.entities)} entities`,
    data.first ? ` from ${date(data.first)} to ${date(data.last)}` : "",
    `, and has ${number(about.parameters)} parameters to score how well any statement fits any time. `,
    "Answers that a fact states are shown as known. All others are inferred, with a probability.",
  ];
}

const pairs = (rows) =>
  h(
    "dl",
    { class: "pairs" },
    rows.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );

function dataSection({ data, about, predicates }) {
  const kinds = Object.entries(KINDS)
    .filter(([kind]) => data[kind])
    .map(([kind, text]) => h("li", {}, `${number(data[kind])} ${text}`));
  const most = [...predicates].sort((a, b) => b.facts - a.facts);
  return h(
    "section",
    {},
    h("h2", {}, "Training data"),
    about.description && h("p", {}, visible(about.description)),
    pairs([
      ["Data", visible(data.name)],
      ["Training facts", number(data.train)],
      ["Validation facts", number(data.valid)],
      ["Test facts", number(data.test)],
      data.first && ["Time", `${date(data.first)} to ${date(data.last)}, by ${data.granularity}`],
      ["Facts", h("ul", { class: "bare" }, kinds)],
      about.sources && ["Sources", visible(about.sources)],
      about.licence && ["Licence", visible(about.licence)],
    ]),
    h(
      "details",
      {},
      h("summary", {}, plural(predicates.length, "predicate")),
      h(
        "ul",
        { class: "cloud" },
        most.map((one) => h("li", {}, named(one.name), h("small", {}, number(one.facts)))),
      ),
    ),
  );
}

function modelSection({ model: about, calibrated }) {
  return h(
    "section",
    {},
    h("h2", {}, "Model"),
    pairs([
      ["Method", visible(about.model)],
      ["Score of a fact", h("span", { class: "formula" }, about.formula)],
      ["Rank", number(about.rank)],
      ["Parameters", number(about.parameters)],
      [
        "Evidence",
        about.evidence.length ? about.evidence.join(", ") : "none, so it cannot name the facts behind an answer",
      ],
      ["Begin and end", about.time_head ? "from a time head" : "from the curve along time"],
      ["Probabilities", calibrated ? "calibrated on validation facts" : "not calibrated"],
      ["Epochs", number(about.epochs)],
      about.added_facts > 0 && ["Facts added after training", number(about.added_facts)],
    ]),
  );
}

async function measure(place, unit) {
  fill(place, loading("Evaluating on test facts; this takes a while the first time", 5));
  try {
    const found = await get("/api/evaluation", { run: chosenRun() });
    fill(place, figures(found, unit), calibrationSection(found.calibration));
  } catch (error) {
    fill(place, problem(error, { retry: () => measure(place, unit) }));
  }
}

function figures({ ranking, split, facts, measured, time_questions: times }, unit) {
  const card = (value, name, about) =>
    h("div", { class: "card" }, h("b", {}, value), h("span", {}, name), h("small", {}, about));
  const spans = times?.model?.intervals;
  const kinds = Object.entries(ranking.groups?.kind ?? {}).filter(([, one]) => one.count);
  return h(
    "div",
    {},
    h(
      "div",
      { class: "cards" },
      card(percent(ranking["hits@1"]), "Hits@1", "the true answer comes first"),
      card(percent(ranking["hits@10"]), "Hits@10", "the true answer is among the first ten"),
      card(ranking.mrr.toFixed(3), "MRR", "mean of 1 / rank of the true answer"),
      spans?.count > 0 &&
        card(
          spans["aeIOU@1"].toFixed(3),
          "aeIOU",
          `overlap of inferred and true spans, ${plural(spans.count, "fact")}`,
        ),
    ),
    h(
      "p",
      { class: "note" },
      `${split[0].toUpperCase()}${split.slice(1)} split, ${number(measured)} of ${plural(facts, "fact")}: ${ranking.protocol.text}.`,
    ),
    times?.model?.begins?.count > 0 && dating(times.model, unit),
    kinds.length > 1 &&
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "By kind of fact" },
        h(
          "table",
          {},
          h("caption", {}, "By kind of fact"),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Facts", "Questions", "MRR", "Hits@1", "Hits@10"].map((text) =>
                h("th", { scope: "col" }, text),
              ),
            ),
          ),
          h(
            "tbody",
            {},
            kinds.map(([kind, one]) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, kind.replace("_", "-")),
                h("td", {}, number(one.count)),
                h("td", {}, one.mrr.toFixed(3)),
                h("td", {}, percent(one["hits@1"])),
                h("td", {}, percent(one["hits@10"])),
              ),
            ),
          ),
        ),
      ),
  );
}

/** How well missing dates are inferred. */
function dating({ begins, ends }, unit) {
  const about = (name, one) =>
    `${plural(one.count, name)}: half are off by ${plural(Math.round(one.median_error), unit)} or less, ${percent(one.coverage)} are within their 80 % range`;
  return h("p", {}, `Inferred dates of the same facts. ${about("begin", begins)}. ${about("end", ends)}.`);
}

function calibrationSection(calibration) {
  const slots = Object.entries(calibration?.slots ?? {});
  if (!slots.length) return null;
  return h(
    "div",
    {},
    h("h3", {}, "Can you trust its percentages?"),
    h(
      "p",
      {},
      "A dot on the line means that answers with a confidence of 70 % were right in 7 of 10 cases. Below the line the model is overconfident, above it underconfident.",
    ),
    h(
      "div",
      { class: "plots" },
      slots.map(([slot, one]) => {
        const shown = one.after ?? one.before;
        return h(
          "div",
          {},
          h("h4", {}, `Which ${slot}?`),
          reliability(
            shown.bins,
            `Reliability of answers to questions for the ${slot}; mean gap ${percent(shown.expected_calibration_error)}`,
          ),
          h(
            "p",
            { class: "note" },
            `${plural(one.questions, "question")}; mean gap ${percent(shown.expected_calibration_error)}`,
          ),
        );
      }),
    ),
  );
}

function limitsSection({ data, model: about, predicates, calibrated }) {
  const rare = predicates.filter((one) => one.facts < RARE).length;
  return h(
    "section",
    {},
    h("h2", {}, "What it cannot know"),
    h(
      "ul",
      { class: "limits" },
      h(
        "li",
        {},
        `Anything but the ${number(data.entities)} entities and ${number(predicates.length)} predicates of the data. Nothing else can be an answer.`,
      ),
      data.last &&
        h(
          "li",
          {},
          `What happened after ${date(data.last)}. For later dates it only estimates how long known facts last; it does not predict new ones.`,
        ),
      h("li", {}, "Whether the data is right. An error in the data is learned like any fact, and shown as known."),
      h(
        "li",
        {},
        "That something is false. A low percentage means that there are better answers, not that a fact contradicts it.",
      ),
      !calibrated && h("li", {}, "How confident it should be: there were no validation facts to calibrate its percentages."),
      rare > 0 &&
        h(
          "li",
          {},
          `Much about ${plural(rare, "predicate")} with fewer than ${RARE} facts.`,
        ),
      about.evidence.length === 0 &&
        h("li", {}, "Which facts led to an answer: it has no evidence terms."),
    ),
  );
}
