// Compare: several objects along time, for one subject and predicate.

import { get, isOutdated, latest } from "../api.js";
import { address, chosenRun, remember } from "../address.js";
import { h, fill, named, say, visible } from "../dom.js";
import { plural, span } from "../format.js";
import { saveCsv, savePng, saveSvg } from "../export.js";
import { COLOURS, compareChart } from "../parts/comparechart.js";
import { startingFacts } from "../parts/examples.js";
import { entityLink } from "../parts/links.js";
import { nameField } from "../parts/namefield.js";
import { placeFields, replaceUnknown } from "../parts/placefields.js";
import { empty, loading, problem } from "../parts/states.js";
import { timeField } from "../parts/timefield.js";

const MEASURES = { probability: "probability", score: "score" };

export function compare(main, { info, parameters }) {
  const changed = () => {
    objects = [];
    run();
  };
  const fields = placeFields(parameters, { places: ["subject", "predicate"], changed });
  const { subject, predicate } = fields;
  const time = timeField({
    times: info.times,
    value: parameters.get("span") ?? "",
    label: "time",
    modes: ["range", "any"],
    changed: (dragging) => run({ push: !dragging }),
  });
  const adding = nameField({
    label: "Add one",
    kind: "entity",
    placeholder: "a name",
    changed: () => {
      if (adding.value) objects = [...shownKeys(), adding.value];
      adding.set("");
      run();
    },
  });
  let objects = parameters.getAll("objects");
  let measure = parameters.get("measure") === "score" ? "score" : "probability";
  let found = null;
  const results = h("div", { class: "results" });
  const only = latest();
  const shownKeys = () => (objects.length ? objects : (found?.curves ?? []).map((curve) => curve.key));

  async function run({ push = true } = {}) {
    const asked = { subject: subject.value, predicate: predicate.value, span: time.value };
    remember("compare", { ...asked, objects, measure: measure === "score" ? measure : "" }, { push });
    const isComplete = asked.subject && asked.predicate;
    const waiting = isComplete && setTimeout(() => fill(results, loading("Drawing curves")), 200);
    try {
      if (!isComplete) return fill(results, await only(start));
      const got = await only((signal) => get("/api/timeline", { ...asked, objects, run: chosenRun() }, signal));
      found = { ...got, curves: chooseCurves(got, objects.length > 0) };
      draw();
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

  function draw() {
    if (!found.curves.length) {
      fill(
        results,
        empty(
          "No known objects",
          h("p", {}, "The data has none in this time. Add an object by name, or choose a longer time."),
        ),
        tools(null),
      );
      return;
    }
    const key = measure === "score" ? "scores" : "probabilities";
    const curves = found.curves.map((curve) => ({ ...curve, values: curve[key] }));
    const title = `${visible(found.subject)} ${visible(found.predicate)}`;
    const chart = compareChart({
      times: found.times,
      curves,
      measure,
      granularity: info.data.granularity,
      label: `${title}: ${curves.map((curve) => visible(curve.name)).join(", ")} along time`,
    });
    say(`${plural(curves.length, "curve")} drawn`);
    const left = found.objects.length - curves.length;
    fill(
      results,
      chart.element,
      legend(curves, chart),
      left > 0 &&
        h(
          "p",
          { class: "note" },
          `${plural(left, "other object is", "other objects are")} known here; add the ones you want to see.`,
        ),
      tools(() => ({ figure: chart.canvas.querySelector("svg"), title, rows: table(curves) })),
    );
  }

  const table = (curves) => [
    ["time", ...curves.map((curve) => curve.name)],
    ...found.times.map((at, i) => [at, ...curves.map((curve) => curve.values[i])]),
  ];

  function legend(curves, chart) {
    const point = (name) =>
      chart.canvas
        .querySelectorAll(".line")
        .forEach((line) => line.classList.toggle("dim", name !== null && line.dataset.name !== name));
    return h(
      "ul",
      { class: "legend" },
      curves.map((curve) =>
        h(
          "li",
          { onpointerenter: () => point(visible(curve.name)), onpointerleave: () => point(null) },
          h("span", { class: `swatch colour-${curve.colour}`, "aria-hidden": "true" }),
          entityLink(curve.name, curve.key),
          h("small", {}, curve.known.length ? curve.known.map(span).join("; ") : "no known facts in this time"),
          h(
            "button",
            {
              type: "button",
              class: "remove",
              "aria-label": `Remove ${visible(curve.name)}`,
              onclick: () => {
                objects = shownKeys().filter((key) => key !== curve.key);
                run();
              },
            },
            "×",
          ),
        ),
      ),
    );
  }

  function tools(exported) {
    const button = (text, act) =>
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            const it = exported();
            act(it);
          },
        },
        text,
      );
    return h(
      "div",
      { class: "comparetools" },
      adding.element,
      exported &&
        h(
          "fieldset",
          { class: "modes" },
          h("legend", {}, "Curves show"),
          Object.entries(MEASURES).map(([value, text]) =>
            h(
              "label",
              {},
              h("input", {
                type: "radio",
                name: "measure",
                value,
                checked: measure === value,
                onchange: () => {
                  measure = value;
                  run({ push: false });
                },
              }),
              h("span", {}, text),
            ),
          ),
        ),
      exported &&
        h(
          "div",
          { class: "exports", role: "group", "aria-label": "Save the figure" },
          h("span", {}, "Save as"),
          button("SVG", ({ figure, title }) => saveSvg(figure, title)),
          button("PNG", ({ figure, title }) => savePng(figure, title)),
          button("CSV", ({ rows, title }) => saveCsv(rows, title)),
        ),
    );
  }

  fill(
    main,
    h("h1", { class: "unseen" }, "Compare along time"),
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
        subject.element,
        predicate.element,
        h("span", { class: "word", "aria-hidden": "true" }, "…"),
        time.element,
        h("button", { class: "primary" }, "Draw"),
      ),
      time.panel,
    ),
    results,
  );
  run({ push: false });
}

/** Those that were named, or of many the ones whose curves reach highest, in the order of time. */
function chooseCurves(got, chosen) {
  const all = got.objects.map((name, i) => ({
    name,
    key: got.keys[i],
    scores: got.scores[i],
    probabilities: got.probabilities[i],
    known: got.known[i],
  }));
  const peak = (curve) => Math.max(...curve.probabilities);
  const kept = chosen ? all : [...all].sort((a, b) => peak(b) - peak(a)).slice(0, COLOURS);
  const order = chosen ? kept : all.filter((curve) => kept.includes(curve));
  return order.map((curve, i) => ({ ...curve, colour: i % COLOURS }));
}

async function start() {
  const facts = await startingFacts().catch(() => []);
  return empty(
    "One subject, several objects",
    h(
      "p",
      {},
      "Choose a subject and a predicate. Each object gets a curve along time; its known facts are the background in the same colour.",
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
              { href: address("compare", { subject: fact.subject.key, predicate: fact.predicate.key }) },
              named(fact.subject.name),
              " ",
              named(fact.predicate.name),
              " …",
            ),
          ),
        ),
      ),
  );
}
