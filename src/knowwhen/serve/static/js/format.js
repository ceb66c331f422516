// Numbers, dates and spans as people read them.

const counted = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const month = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric", timeZone: "UTC" });

export const number = (value) => counted.format(value);

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** "86 %", "0.4 %", "< 0.1 %": never 0 or 100 for what is neither. */
export function percent(share) {
  if (share >= 1) return "100 %";
  if (share > 0.995) return "> 99 %";
  if (share >= 0.0995) return `${Math.round(share * 100)} %`;
  if (share >= 0.001) return `${(share * 100).toFixed(1)} %`;
  return share > 0 ? "< 0.1 %" : "0 %";
}

/** A date of the data, "2014-03-05", as "5 Mar 2014". */
export function date(label) {
  const parts = /^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(label);
  if (!parts) return label.replace(/^(-?)0+(?=\d)/, "$1");
  const [, y, m, d] = parts;
  const found = new Date(0);
  found.setUTCFullYear(Number(y), Number(m) - 1, Number(d ?? 1));
  return (d ? day : month).format(found);
}

/** "1981 to 1995", "since 2017", "until 2002", "in 1981", "at all times". */
export function span([begin, end]) {
  if (!begin && !end) return "no date given";
  if (!end) return `since ${date(begin)}`;
  if (!begin) return `until ${date(end)}`;
  return begin === end ? date(begin) : `${date(begin)} to ${date(end)}`;
}
