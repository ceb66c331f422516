// The model: what it was trained on, how good it is by which protocol, and what it cannot know.

import { get } from "../api.js";
import { chosenRun } from "../address.js";
import { h, fill, named, visible } from "../dom.js";
import { date, number, percent, plural } from "../format.js";
import { reliability } from "../parts/reliability.js";
import { loading, problem } from "../parts/states.js";

const KINDS = {
  events: "events, at one time",
  intervals: "with begin and end",
  half_open: "with one end only",
  static: "without dates",
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
    `It read ${number(data.train)} facts about ${number(data.entities)} things`,
    data.first ? ` from ${date(data.first)} to ${date(data.last)}` : "",
    `, and learned ${number(about.parameters)} numbers with which it judges how well any statement fits any time. `,
    "What a fact says is shown as known; all else is inferred, with a probability.",
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
    h("h2", {}, "What it was trained on"),
    about.description && h("p", {}, visible(about.description)),
    pairs([
      ["Data", visible(data.name)],
      ["To learn from", number(data.train)],
      ["To choose and calibrate", number(data.valid)],
      ["To test", number(data.test)],
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
    h("h2", {}, "What it is"),
    pairs([
      ["Method", visible(about.model)],
      ["Score of a fact", h("span", { class: "formula" }, about.formula)],
      ["Rank", number(about.rank)],
      ["Parameters", number(about.parameters)],
      [
        "Evidence",
        about.evidence.length ? about.evidence.join(", ") : "none: it cannot name the facts behind an answer",
      ],
      ["Begin and end", about.time_head ? "from a time head" : "from the curve along time alone"],
      ["Probabilities", calibrated ? "calibrated on facts held out" : "not calibrated"],
      ["Epochs", number(about.epochs)],
      about.added_facts > 0 && ["Facts added since", number(about.added_facts)],
    ]),
  );
}

async function measure(place, unit) {
  fill(place, loading("Measuring on facts that training never saw; the first time this takes a while", 5));
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
      card(percent(ranking["hits@1"]), "right at first", "the true answer came first"),
      card(percent(ranking["hits@10"]), "among the first ten", "of all possible answers"),
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
              ["Facts", "Questions", "MRR", "Right at first", "In first ten"].map((text) =>
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
    `${plural(one.count, name)}: half are off by ${plural(Math.round(one.median_error), unit)} or less, ${percent(one.coverage)} lie in their 80 % range`;
  return h("p", {}, `Missing dates, on the same facts. ${about("begin", begins)}. ${about("end", ends)}.`);
}

function calibrationSection(calibration) {
  const slots = Object.entries(calibration?.slots ?? {});
  if (!slots.length) return null;
  return h(
    "div",
    {},
    h("h3", {}, "Can its percentages be trusted?"),
    h(
      "p",
      {},
      "Dots on the line mean that answers said to be 70 % sure were right in 7 of 10 cases. Below the line it was too sure, above it too careful.",
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
            `Reliability of answers to: which ${slot}; mean gap ${percent(shown.expected_calibration_error)}`,
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
        `Only the ${number(data.entities)} things and ${number(predicates.length)} predicates of the data. Anything else is never an answer, however true.`,
      ),
      data.last &&
        h(
          "li",
          {},
          `What happened after ${date(data.last)}. For later dates it only says how likely known facts are to last; new beginnings are not foreseen.`,
        ),
      h("li", {}, "Whether the data is right. An error in the facts is learned like a fact, and shown as known."),
      h(
        "li",
        {},
        "That something is not so. A low percentage means that it found better answers, not that a fact speaks against it.",
      ),
      !calibrated && h("li", {}, "How sure it is: no facts were held out to calibrate its percentages."),
      rare > 0 &&
        h(
          "li",
          {},
          `Much about ${plural(rare, "predicate")} with fewer than ${RARE} facts; answers there rest on little.`,
        ),
      about.evidence.length === 0 &&
        h("li", {}, "Which single facts led to an answer: it was trained without evidence."),
    ),
  );
}
