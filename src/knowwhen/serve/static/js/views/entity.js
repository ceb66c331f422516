// Entity: all that is known of one thing on a timeline, what may be missing, and its neighbours.

import { entityPath, get, isOutdated, latest } from "../api.js";
import { address, chosenRun, go, remember } from "../address.js";
import { h, fill, named, say, visible } from "../dom.js";
import { date, number, percent, plural, span } from "../format.js";
import { factTable } from "../parts/facttable.js";
import { nameField } from "../parts/namefield.js";
import { neighbours } from "../parts/neighbours.js";
import { inferAt, inferFacts, LEAST } from "../parts/inferred.js";
import { direction, timeline } from "../parts/timeline.js";
import { lanesOf, timesOf } from "../parts/lanes.js";
import { entityLink } from "../parts/links.js";
import { empty, loading, problem } from "../parts/states.js";
import { timeField } from "../parts/timefield.js";

const FACTS = 3000;
const LANES = 14;

export function entity(main, { info, parameters }) {
  const key = parameters.get("key") ?? "";
  const field = nameField({
    label: "Entity",
    kind: "entity",
    value: key,
    placeholder: "a name",
    changed: () => field.value && go(address("entity", { key: field.value })),
  });
  const results = h("div", { class: "results" });
  fill(
    main,
    h(
      "form",
      {
        class: "sentence small",
        onsubmit: (event) => {
          event.preventDefault();
          if (field.value) go(address("entity", { key: field.value }));
        },
      },
      h("div", { class: "fields" }, field.element, h("button", { class: "primary" }, "Show")),
    ),
    results,
  );
  if (key) show(results, key, info, parameters, field);
  else start(results);
}

async function start(results) {
  fill(results, loading("Looking up names"));
  const { names } = await get("/api/names", { limit: 18, run: chosenRun() }).catch(() => ({ names: [] }));
  fill(
    results,
    h("h1", { class: "unseen" }, "Look something up"),
    empty(
      "Look something up",
      h("p", {}, "Type a name above, or start with one of these, which have the most facts."),
      h(
        "ul",
        { class: "cloud" },
        names.map((name) => h("li", {}, entityLink(name.name, name.key), h("small", {}, number(name.facts)))),
      ),
    ),
  );
}

async function show(results, key, info, parameters, field) {
  const waiting = setTimeout(() => fill(results, loading("Gathering facts", 6)), 120);
  let found;
  try {
    found = await get(entityPath(key), { limit: Math.min(FACTS, info.limits.max_facts), run: chosenRun() });
  } catch (error) {
    return fill(
      results,
      h("h1", { class: "unseen" }, "Not found"),
      problem(error, { choose: (name) => go(address("entity", { key: name })) }),
    );
  } finally {
    clearTimeout(waiting);
  }
  if (!results.isConnected) return; // another view came first
  document.title = `${visible(found.name)} · knowwhen`;
  const lanes = lanesOf(found.facts);
  const drawn = parameters.get("lanes") === "all" ? lanes : lanes.slice(0, LANES);
  const times = timesOf(found.facts, info.times);
  const lines = timeline(drawn, times, info.data);
  const state = { inferred: null, threshold: Number(parameters.get("threshold")) || 0.5 };
  const asOf = h("section", { class: "asof", "aria-live": "polite" });
  const only = latest();

  const keep = (push = false) =>
    remember(
      "entity",
      {
        key,
        time: time.value,
        threshold: state.threshold === 0.5 ? "" : state.threshold,
        lanes: parameters.get("lanes"),
      },
      { push },
    );
  const redraw = () => lines.show({ ...state, cursor: time.value || null });
  const time = timeField({
    times: info.times,
    value: parameters.get("time") ?? "",
    label: "As of",
    modes: ["date", "any"],
    changed: () => {
      keep();
      redraw();
      showAsOf();
    },
  });

  const shown = h("output", {}, percent(state.threshold));
  const threshold = h("input", {
    type: "range",
    min: LEAST,
    max: 1,
    step: 0.01,
    value: state.threshold,
    id: "threshold",
    oninput: () => {
      state.threshold = Number(threshold.value);
      threshold.setAttribute("aria-valuetext", percent(state.threshold));
      shown.textContent = percent(state.threshold);
      keep();
      redraw();
      drawAsOf();
    },
  });
  let then = null; // what holds at a date: lanes of known facts, and inferred ones by lane

  async function showAsOf() {
    const at = time.value;
    if (!at) return fill(asOf);
    try {
      const [held, guessed] = await only((signal) =>
        Promise.all([
          get(
            entityPath(found.key),
            { time: at, limit: Math.min(FACTS, info.limits.max_facts), run: chosenRun() },
            signal,
          ),
          inferAt(found.key, drawn, at, signal),
        ]),
      );
      then = { at, known: new Map(lanesOf(held.facts).map((lane) => [lane.id, lane.dated])), guessed };
      drawAsOf();
    } catch (error) {
      if (!isOutdated(error)) fill(asOf, problem(error));
    }
  }

  function drawAsOf() {
    if (!time.value || then?.at !== time.value) return; // what holds at the new date is still on its way
    const rows = drawn
      .map((lane) => ({
        lane,
        known: then.known.get(lane.id) ?? [],
        inferred: (lane.dated.length ? (then.guessed.get(lane.id) ?? []) : []).filter(
          (one) => one.probability >= state.threshold,
        ),
      }))
      .filter((row) => row.known.length || row.inferred.length);
    fill(
      asOf,
      h("h2", {}, `As of ${date(time.value)}`),
      rows.length
        ? h(
            "dl",
            { class: "facts" },
            rows.map(({ lane, known, inferred }) => [
              h("dt", {}, direction(lane) && h("small", {}, `${direction(lane)} `), named(lane.predicate)),
              h(
                "dd",
                {},
                known.map((fact) =>
                  h(
                    "span",
                    { class: "chip known" },
                    entityLink(fact.other, fact.other_key),
                    h("small", {}, span([fact.begin, fact.end])),
                  ),
                ),
                inferred.map((one) =>
                  h(
                    "span",
                    { class: "chip inferred" },
                    entityLink(one.other, one.other_key),
                    h("small", {}, `inferred, ${percent(one.probability)}`),
                  ),
                ),
              ),
            ]),
          )
        : h("p", { class: "note" }, "No dated fact holds then, and no inferred fact is probable enough."),
    );
  }

  fill(
    results,
    h(
      "header",
      { class: "entityhead" },
      h(
        "div",
        {},
        h("h1", {}, named(found.name)),
        found.key !== found.name && h("p", { class: "key" }, visible(found.key)),
        h(
          "p",
          { class: "note" },
          plural(found.total, "known fact"),
          found.total > found.facts.length ? `, ${number(found.facts.length)} shown` : "",
          ".",
        ),
      ),
      h(
        "div",
        { class: "controls" },
        h("div", { class: "fields" }, time.element),
        time.panel,
        h("div", { class: "line" }, h("label", { for: "threshold" }, "Show inferred facts from"), threshold, shown),
      ),
    ),
    h(
      "p",
      { class: "key-line", "aria-hidden": "true" },
      h("span", { class: "sample known" }),
      "known",
      h("span", { class: "sample known open-right" }),
      "end unknown",
      h("span", { class: "sample inferred" }),
      "inferred at sampled dates",
    ),
    found.facts.length ? lines.element : empty("No facts", h("p", {}, "The data has this name, but no facts about it.")),
    lanes.length > drawn.length &&
      h(
        "p",
        {},
        h(
          "a",
          { class: "quiet button", href: address("entity", { key, time: time.value, lanes: "all" }) },
          `${plural(lanes.length - drawn.length, "more lane")}`,
        ),
      ),
    asOf,
    neighbours(found),
    factTable(found),
  );
  say(`${visible(found.name)}, ${plural(found.total, "known fact")}`);
  redraw();
  showAsOf();
  try {
    state.inferred = await inferFacts(found.key, drawn, times);
    redraw();
  } catch (error) {
    results.append(h("p", { class: "note" }, `Inferred facts are not shown: ${error.message}`));
  }
}
