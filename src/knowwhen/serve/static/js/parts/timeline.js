// Lanes drawn along the axis: known facts as solid bars, inferred ones in another tone, open ends fading.

import { marks, UNITS, yearOf } from "../axis.js";
import { entityAddress } from "../address.js";
import { h, fill, named, visible } from "../dom.js";
import { percent, plural, span } from "../format.js";
import { barOf, pack } from "./lanes.js";
import { barsOver } from "./inferred.js";

const ROWS = 12;
const EVENT_ROWS = 5; // of facts at one time, which have no room for names
const CHIPS = 10;

/** An element for lanes along `times`; `show({inferred, threshold, cursor})` draws what changed. */
export function timeline(lanes, times, data) {
  const rows = lanes.map((lane) => ({
    lane,
    known: h("div", { class: "bars" }),
    guess: h("div", { class: "bars guessed" }),
  }));
  for (const row of rows) {
    draw(
      row.known,
      row.lane.dated.map((fact) => ({ ...fact, kind: "known" })),
      row.lane.undated,
    );
  }
  const cursor = h("div", { class: "cursor", hidden: true, "aria-hidden": "true" });
  const body = rows.map(({ lane, known, guess }) =>
    h(
      "section",
      { class: "lane", "aria-label": `${direction(lane)} ${visible(lane.predicate)}` },
      h(
        "h3",
        { class: lane.side },
        named(lane.predicate),
        h("small", {}, plural(lane.dated.length + lane.undated.length, "fact")),
      ),
      h("div", { class: "track" }, known, guess),
    ),
  );
  const element = h(
    "div",
    { class: "timeline" },
    times.length > 0 && ruler(),
    h("div", { class: "over", "aria-hidden": "true" }, cursor),
    body,
  );

  function ruler() {
    const unit = UNITS[data.granularity] ?? 1;
    const [first, last] = [yearOf(times[0]), yearOf(times.at(-1)) + unit];
    return h(
      "div",
      { class: "ruler", "aria-hidden": "true" },
      h("span", {}),
      h(
        "div",
        {},
        marks(first, last, 9).map(({ at, text }) =>
          h("span", { vars: { "--at": (at - first) / (last - first) } }, text),
        ),
      ),
    );
  }

  function draw(place, dated, undated) {
    const bars = dated
      .map((fact) => ({ fact, ...barOf(fact, times, data.granularity) }))
      .sort((a, b) => a.left - b.left);
    const events = bars.length > EVENT_ROWS && bars.every(({ width }) => width < 0.02);
    const { rows: at, count } = pack(bars, events ? EVENT_ROWS : ROWS, 0.008);
    const dense = events && count === 1 && bars.length > 40;
    const looks = ["packed", events && "events", dense && "dense"].filter(Boolean).join(" ");
    fill(
      place,
      bars.length > 0 &&
        h(
          "div",
          { class: looks, vars: { "--rows": count } },
          bars.map((bar, i) => barLink(bar, at[i])),
        ),
      undated.length > 0 && chips(undated),
    );
  }

  return {
    element,
    show({ inferred, threshold, cursor: at }) {
      for (const { lane, guess } of rows) {
        const found = inferred ? barsOver(inferred.cells.get(lane.id) ?? [], threshold, inferred.samples, times) : [];
        draw(
          guess,
          found.filter((one) => one.begin).map((one) => ({ ...one, kind: "inferred" })),
          found.filter((one) => !one.begin).map((one) => ({ ...one, kind: "inferred" })),
        );
      }
      const outside =
        !at || yearOf(at) < yearOf(times[0]) || yearOf(at) > yearOf(times.at(-1)) + (UNITS[data.granularity] ?? 1);
      cursor.hidden = outside;
      if (!outside) cursor.style.setProperty("--at", barOf({ begin: at, end: at }, times, data.granularity).left);
    },
  };
}

export const direction = (lane) => (lane.side === "subject" ? "" : "from others:");

function barLink({ fact, left, width, openLeft, openRight }, row) {
  const about = aboutFact(fact);
  return h(
    "a",
    {
      class: ["fact", fact.kind, openLeft && "open-left", openRight && "open-right", left > 0.6 && "late"]
        .filter(Boolean)
        .join(" "),
      href: entityAddress(fact.other_key),
      "aria-label": about,
      "data-about": about,
      vars: { "--left": left, "--width": width, "--row": row, "--sure": fact.probability ?? 1 },
    },
    h("span", {}, named(fact.other)),
  );
}

function aboutFact(fact) {
  const sure = fact.kind === "inferred" ? `, inferred, ${percent(fact.probability)}` : "";
  return `${visible(fact.other)}, ${fact.begin || fact.end ? span([fact.begin, fact.end]) : "without a date"}${sure}`;
}

/** Facts without dates; of many, the first and a button for the rest. */
function chips(facts) {
  const list = h("ul", { class: "chips" });
  const item = (fact) =>
    h(
      "li",
      {},
      h(
        "a",
        { class: `chip ${fact.kind ?? "known"}`, href: entityAddress(fact.other_key), "aria-label": aboutFact(fact) },
        named(fact.other),
        fact.kind === "inferred" && h("small", {}, percent(fact.probability)),
      ),
    );
  const some = facts.slice(0, CHIPS).map(item);
  const rest = facts.length - CHIPS;
  const all = h(
    "li",
    {},
    h("button", { type: "button", class: "quiet small", onclick: () => fill(list, facts.map(item)) }, `${rest} more`),
  );
  return fill(list, some, rest > 0 && all);
}
