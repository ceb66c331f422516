// Facts about an entity that no fact says: each lane is asked at dates along the axis, and what is probable at dates in a
// row becomes a bar.

import { post } from "../api.js";
import { chosenRun } from "../address.js";

const SAMPLES = 16;
const LANES = 10;
const TOP = 3;
export const LEAST = 0.01; // a smaller probability is never shown

function question(lane, key, time) {
  const ends = lane.side === "subject" ? { subject: key, object: "?" } : { subject: "?", object: key };
  return { ...ends, predicate: lane.predicate_key, time: time ?? null };
}

/** Cells of each lane: {lane id: [{other, other_key, probability, at}]}, `at` the number of a sample, or null. */
export async function inferFacts(key, lanes, times, signal) {
  const samples = sampleDates(times);
  const asked = lanes
    .slice(0, LANES)
    .flatMap((lane) =>
      lane.dated.length ? samples.map((time, at) => ({ lane, time, at })) : [{ lane, time: null, at: null }],
    );
  if (!asked.length) return { cells: new Map(), samples };
  return { cells: await answers(key, asked, signal), samples };
}

/** The same at one date. */
export const inferAt = (key, lanes, time, signal) =>
  answers(
    key,
    lanes.slice(0, LANES).map((lane) => ({ lane, time: lane.dated.length ? time : null, at: 0 })),
    signal,
  );

async function answers(key, asked, signal) {
  const questions = asked.map(({ lane, time }) => question(lane, key, time));
  const { results } = await post(
    "/api/ask",
    { questions, top: TOP, novel: true, min_probability: LEAST, run: chosenRun() },
    signal,
  );
  const cells = new Map();
  results.forEach((result, i) => {
    const { lane, at } = asked[i];
    const found = cells.get(lane.id) ?? cells.set(lane.id, []).get(lane.id);
    for (const answer of result.answers) {
      found.push({ other: answer.name, other_key: answer.key, probability: answer.probability, at });
    }
  });
  return cells;
}

function sampleDates(times) {
  const count = Math.min(SAMPLES, times.length);
  return Array.from({ length: count }, (_, i) => times[Math.floor((i * times.length) / count)]);
}

/** Bars of the cells over a threshold: cells of one name at dates in a row are one bar, as probable as the best of them. */
export function barsOver(cells, threshold, samples, times) {
  const byName = new Map();
  for (const cell of cells) {
    if (cell.probability >= threshold) byName.set(cell.other_key, [...(byName.get(cell.other_key) ?? []), cell]);
  }
  const bars = [];
  for (const group of byName.values()) {
    let open = null;
    for (const cell of group.sort((a, b) => a.at - b.at)) {
      if (open && cell.at === open.to + 1)
        Object.assign(open, { to: cell.at, probability: Math.max(open.probability, cell.probability) });
      else
        bars.push(
          (open = {
            other: cell.other,
            other_key: cell.other_key,
            probability: cell.probability,
            from: cell.at,
            to: cell.at,
          }),
        );
    }
  }
  return bars.map((bar) =>
    bar.from === null ? bar : { ...bar, begin: samples[bar.from], end: endOf(samples, bar.to, times) },
  );
}

const endOf = (samples, i, times) => (i + 1 < samples.length ? times[times.indexOf(samples[i + 1]) - 1] : times.at(-1));
