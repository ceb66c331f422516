// A figure as a file: SVG and PNG that look the same elsewhere, and its numbers as CSV.

const STYLES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "paint-order",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "visibility",
];

/** A copy of a figure with its looks in attributes of its own, on the page's background. */
function standalone(figure) {
  const copy = figure.cloneNode(true);
  const parts = [figure, ...figure.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, i) => {
    const looks = getComputedStyle(parts[i]);
    for (const name of STYLES) part.setAttribute(name, looks.getPropertyValue(name));
    part.removeAttribute("class");
    part.removeAttribute("style");
  });
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(figure, name) {
  save(new Blob([standalone(figure)], { type: "image/svg+xml" }), `${name}.svg`);
}

/** At twice the size on the screen. */
export async function savePng(figure, name) {
  const address = URL.createObjectURL(new Blob([standalone(figure)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * figure.width.baseVal.value, 2 * figure.height.baseVal.value];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    save(await new Promise((done) => canvas.toBlob(done, "image/png")), `${name}.png`);
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Rows of a table, the first its header. */
export function saveCsv(rows, name) {
  save(
    new Blob([rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }),
    `${name}.csv`,
  );
}

// A cell that a spreadsheet would take for a formula gets an apostrophe before it, as spreadsheets write it themselves.
const FORMULA = /^[=+@\t\r-]/;

function quoted(value) {
  const text = typeof value === "string" && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\p{L}\p{N}. _-]+/gu, "_");
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
