// The facts of an entity as lanes: one for each predicate and direction, bars packed into rows.

import { edges, indexOf, UNITS, yearOf } from "../axis.js";

const AIR = 0.06;
const MOST = 0.6;

/** Lanes of facts, those with most facts first: {id, side, predicate, predicate_key, dated, undated}. */
export function lanesOf(facts) {
  const lanes = new Map();
  for (const fact of facts) {
    const id = `${fact.side} ${fact.predicate_key}`;
    if (!lanes.has(id))
      lanes.set(id, {
        id,
        side: fact.side,
        predicate: fact.predicate,
        predicate_key: fact.predicate_key,
        dated: [],
        undated: [],
      });
    lanes.get(id)[fact.begin || fact.end ? "dated" : "undated"].push(fact);
  }
  const size = (lane) => lane.dated.length * 2 + lane.undated.length;
  return [...lanes.values()].sort((a, b) => a.side.localeCompare(b.side) * -1 || size(b) - size(a));
}

/** A bar of a fact as shares of the axis: {left, width, openLeft, openRight}. */
export function barOf(fact, times, granularity) {
  const unit = UNITS[granularity] ?? 1;
  const [first, last] = [yearOf(times[0]), yearOf(times.at(-1)) + unit];
  const at = (year) => Math.min(1, Math.max(0, (year - first) / (last - first)));
  const [left, right] = edges([fact.begin, fact.end], unit, [first, last]).map(at);
  return { left, width: Math.max(0, right - left), openLeft: !fact.begin, openRight: !fact.end };
}

/** The part of the axis that facts are in, with some air; all of it where they use most of it. */
export function timesOf(facts, times) {
  const at = facts
    .flatMap((fact) => [fact.begin, fact.end])
    .filter(Boolean)
    .map((label) => indexOf(times, label));
  if (!at.length) return times;
  const air = Math.max(2, Math.round((Math.max(...at) - Math.min(...at)) * AIR));
  const [first, last] = [Math.max(0, Math.min(...at) - air), Math.min(times.length - 1, Math.max(...at) + air)];
  const years = (a, z) => yearOf(times[z]) - yearOf(times[a]);
  return years(first, last) < MOST * years(0, times.length - 1) ? times.slice(first, last + 1) : times;
}

/** The row of each bar so that none covers another, as long as `most` rows are enough; else all in one row. */
export function pack(bars, most, least) {
  const ends = [];
  const rows = bars.map(({ left, width }) => {
    let row = ends.findIndex((end) => end <= left + 1e-9);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = left + Math.max(width, least);
    return row;
  });
  return ends.length <= most ? { rows, count: Math.max(1, ends.length) } : { rows: rows.map(() => 0), count: 1 };
}
