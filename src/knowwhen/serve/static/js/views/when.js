// When: the span of a fact with the ranges of its ends, what is known, and whether it lasts past the data.

import { get, isOutdated, latest, post } from "../api.js";
import { address, chosenRun, remember } from "../address.js";
import { after } from "../axis.js";
import { h, fill, named, say } from "../dom.js";
import { date, percent, span } from "../format.js";
import { factLine } from "../parts/links.js";
import { PLACES, placeFields, replaceUnknown } from "../parts/placefields.js";
import { startingFacts } from "../parts/examples.js";
import { empty, loading, problem } from "../parts/states.js";
import { timeChart } from "../parts/timechart.js";
import { timeCurve } from "../parts/timecurve.js";

const AHEAD = 0.16; // how far past the data, as a share of the axis
const STEPS = 20;
const LIKELY = 0.1; // that it holds at the last time, for what comes after to be worth a word

export function when(main, { info, parameters }) {
  const fields = placeFields(parameters, { changed: () => run() });
  const infer = h("input", { type: "checkbox", checked: parameters.get("infer") === "1", onchange: () => run() });
  const results = h("div", { class: "results" });
  const only = latest();

  async function run({ push = true } = {}) {
    const asked = Object.fromEntries(PLACES.map((place) => [place, fields[place].value]));
    remember("when", { ...asked, infer: infer.checked ? "1" : "" }, { push });
    const isComplete = PLACES.every((place) => asked[place]);
    const waiting = isComplete && setTimeout(() => fill(results, loading("Inferring dates")), 150);
    try {
      fill(results, await only((signal) => (isComplete ? answer(asked, signal) : start())));
    } catch (error) {
      if (!isOutdated(error))
        fill(
          results,
          problem(error, {
            choose: (name) => {
              replaceUnknown(fields, error, name);
              run();
            },
            retry: () => run(),
          }),
        );
    } finally {
      clearTimeout(waiting);
    }
  }

  async function answer(asked, signal) {
    const chosen = { ...asked, run: chosenRun() };
    if (!info.model.time_head) return timeCurve(await get("/api/ask", { ...chosen, time: "?" }, signal), asked, info);
    const [found, beyond] = await Promise.all([
      get("/api/when", { ...chosen, infer: infer.checked ? "true" : "" }, signal),
      infer.checked ? null : lasting(chosen, info, signal), // which rests on what is known
    ]);
    say(
      `${span([found.begin, found.end])}, ${found.inferred.length ? `inferred, ${percent(found.probability)}` : "known"}`,
    );
    return result(found, beyond, asked, info);
  }

  async function start() {
    const facts = await startingFacts().catch(() => []);
    return empty(
      "When did it hold?",
      h(
        "p",
        {},
        "Choose a fact to see when it began and ended. Dates are known from the data, or inferred from other facts and marked as inferred.",
      ),
      facts.length > 0 &&
        h(
          "ul",
          { class: "starters" },
          facts.map((fact) =>
            h(
              "li",
              {},
              h(
                "a",
                {
                  href: address("when", {
                    subject: fact.subject.key,
                    predicate: fact.predicate.key,
                    object: fact.object.key,
                  }),
                },
                named(fact.subject.name),
                " ",
                named(fact.predicate.name),
                " ",
                named(fact.object.name),
              ),
            ),
          ),
        ),
    );
  }

  fill(
    main,
    h("h1", { class: "unseen" }, "When does a fact hold?"),
    h(
      "form",
      {
        class: "sentence",
        onsubmit: (event) => {
          event.preventDefault();
          run();
        },
      },
      h(
        "div",
        { class: "fields" },
        h("span", { class: "word", "aria-hidden": "true" }, "When:"),
        PLACES.map((place) => fields[place].element),
        h("button", { class: "primary" }, "Find"),
      ),
      info.model.time_head &&
        h("label", { class: "check" }, infer, " ignore the known dates and infer them from other facts"),
    ),
    results,
  );
  run({ push: false });
}

/** How probable it is to last past the data, from now on: the last time and those after it, relative to the last. */
async function lasting(chosen, info, signal) {
  const { data, times } = info;
  const step = Math.max(1, Math.round((times.length * AHEAD) / STEPS));
  const count = Math.min(STEPS, Math.max(5, Math.round(times.length * AHEAD)));
  const later = Array.from({ length: count }, (_, i) => after(times.at(-1), data.granularity, (i + 1) * step));
  const { subject, predicate, object, run } = chosen;
  const facts = [times.at(-1), ...later].map((time) => ({ subject, predicate, object, time }));
  try {
    const { results } = await post("/api/holds", { facts, run }, signal);
    const [now, ...then] = results.map((one) => one.probability);
    return now > 0 ? { times: later, shares: then.map((value) => value / now) } : null;
  } catch (error) {
    if (isOutdated(error)) throw error;
    return null; // the curve ends where the data does
  }
}

function result(found, beyond, asked, info) {
  const inferred = found.inferred.length > 0;
  const last = found.holds.at(-1);
  const open = beyond && last > LIKELY;
  const later = open ? { times: beyond.times, values: beyond.shares.map((share) => share * last) } : null;
  return h(
    "div",
    { class: "found" },
    h(
      "p",
      { class: `lead ${inferred ? "inferred" : "known"}` },
      headline(found),
      h("small", {}, inferred ? `inferred: ${found.inferred.join(" and ")}` : "known: the data has the dates"),
    ),
    found.known.some(([begin, end]) => !begin && !end) && h("p", {}, "The fact is known, but not its dates."),
    ends(found),
    timeChart({
      times: found.times,
      values: found.holds,
      known: found.known.filter(([begin, end]) => begin || end),
      best: inferred ? found.spans.map((one) => [one.begin, one.end]) : [],
      ranges: Object.fromEntries(found.inferred.map((name) => [name, found[`${name}_range`]])),
      beyond: later,
      granularity: info.data.granularity,
      label: `The probability that it holds, along time: ${headline(found)}`,
      caption: inferred
        ? "The probability that it holds at each time. Below: the known span, the best guess, and the 80 % ranges of begin and end."
        : "The probability that it holds at each time.",
    }),
    open && survival(beyond, info),
    found.alternatives.length > 0 &&
      h(
        "p",
        {},
        "Other spans: ",
        found.alternatives.map((one, i) => [
          i ? ", " : "",
          `${span([one.begin, one.end])} (${percent(one.probability)})`,
        ]),
        ".",
      ),
    found.reasons.length > 0 &&
      h(
        "section",
        {},
        h("h3", {}, "Facts behind these dates"),
        h(
          "ul",
          { class: "reasons plain" },
          found.reasons.map((fact) => h("li", {}, factLine(fact))),
        ),
      ),
    h(
      "p",
      {},
      h(
        "a",
        { href: address("compare", { subject: asked.subject, predicate: asked.predicate }) },
        "Compare with other objects",
      ),
    ),
  );
}

/** A known begin with an end that is more likely missing than not is shown as open. */
function headline(found) {
  if (found.inferred.includes("end") && found.no_end > 0.5)
    return found.begin ? `since ${date(found.begin)}` : "end unknown";
  return found.spans.map((one) => span([one.begin, one.end])).join(" and ");
}

function ends(found) {
  if (!found.inferred.length) return null;
  const open = found.inferred.includes("end") && found.no_end > 0.5;
  const rows = ["begin", "end"].map((name) => {
    const known = !found.inferred.includes(name);
    const [low, high] = found[`${name}_range`];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, name[0].toUpperCase() + name.slice(1)),
      h("td", {}, found[name] ? date(found[name]) : "none", name === "end" && open ? ", if it ended" : ""),
      h(
        "td",
        {},
        known ? h("span", { class: "tag known" }, "known") : h("span", { class: "tag inferred" }, "inferred"),
      ),
      h("td", {}, known ? "" : low === high ? date(low) : `${date(low)} to ${date(high)}`),
    );
  });
  return h(
    "div",
    {},
    h(
      "table",
      { class: "ends" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["", "best guess", "", "80 % range"].map((text) =>
            h("th", { scope: "col" }, text || h("span", { class: "unseen" }, "what")),
          ),
        ),
      ),
      h("tbody", {}, rows),
    ),
    h(
      "p",
      { class: "note" },
      `${percent(found.probability)} that ${found.inferred.length > 1 ? "begin and end are" : `the ${found.inferred[0]} is`} exactly right.`,
      found.inferred.includes("end") && found.no_end > 0.0005
        ? ` ${percent(found.no_end)} that the data has no end${open ? ": it may well still hold" : ""}.`
        : "",
    ),
  );
}

function survival(beyond, info) {
  const picks = [0, Math.floor(beyond.times.length / 2), beyond.times.length - 1];
  return h(
    "p",
    { class: "survival" },
    `If it holds in ${date(info.times.at(-1))}, the probability that it still does in `,
    [...new Set(picks)].map((i, k) => [
      k ? ", in " : "",
      date(beyond.times[i]),
      " is ",
      h("b", {}, percent(beyond.shares[i])),
    ]),
    ". Learned from how long other facts of this kind lasted.",
  );
}
