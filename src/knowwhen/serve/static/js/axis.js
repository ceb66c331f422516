// The time axis: labels of the data as numbers (years and parts of them), and marks along it.

/** A date as a number of years: "1981" is 1981, "2014-07-02" about 2014.5. NaN for what is no date. */
export function yearOf(label) {
  const parts = /^(-?\d+)(?:-(\d\d))?(?:-(\d\d))?$/.exec(label ?? "");
  if (!parts) return NaN;
  const [year, m, d] = parts.slice(1).map(Number);
  return year + ((m || 1) - 1) / 12 + ((d || 1) - 1) / 372;
}

/** How long one unit of the data is, in years. */
export const UNITS = { year: 1, month: 1 / 12, day: 1 / 366 };

/**
 * Where a span lies, as numbers of years. One of several units begins and ends in the middle of its first and last, so that
 * spans that follow each other meet; one of a single unit fills it.
 */
export function edges([begin, end], unit, [first, last]) {
  const within = begin !== end ? unit / 2 : 0;
  return [begin ? yearOf(begin) + within : first, end ? yearOf(end) + (within || unit) : last];
}

/** The position of a label or, where it is between two, of the one before it. */
export function indexOf(times, label) {
  const exact = times.indexOf(label);
  if (exact >= 0) return exact;
  const at = yearOf(label);
  if (Number.isNaN(at)) return -1;
  const after = times.findIndex((time) => yearOf(time) > at);
  return after < 0 ? times.length - 1 : Math.max(0, after - 1);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const STEPS = [1 / 12, 1 / 4, 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000];

/** Marks between two numbers of years, at most `most` of them: [{at, text}]. */
export function marks(first, last, most) {
  const step = STEPS.find((one) => (last - first) / one <= most) ?? STEPS.at(-1);
  const found = [];
  for (let i = Math.ceil(first / step - 1e-6); i * step <= last + 1e-9; i++) {
    const at = i * step;
    const year = Math.floor(at + 1e-6);
    const monthAt = Math.round((at - year) * 12);
    found.push({ at, text: step >= 1 ? String(year) : monthAt ? MONTHS[monthAt] : String(year) });
  }
  return found;
}

/** The label `count` units after the last one of the data. */
export function after(label, granularity, count) {
  const [year, m, d] = /^(-?\d+)(?:-(\d\d))?(?:-(\d\d))?$/.exec(label).slice(1).map(Number);
  const at = new Date(0);
  if (granularity === "year") return String(year + count).padStart(4, "0");
  if (granularity === "month") at.setUTCFullYear(year, m - 1 + count, 1);
  else at.setUTCFullYear(year, m - 1, d + count);
  return at.toISOString().slice(0, granularity === "month" ? 7 : 10);
}
