// Answers as rows: a name, a bar for its probability, whether it is known or inferred, and why.

import { address } from "../address.js";
import { h, named, visible } from "../dom.js";
import { percent, plural, span } from "../format.js";
import { entityLink } from "./links.js";
import { why } from "./why.js";

const KINDS = {
  known: ["Known", "stated by a fact"],
  inferred: ["Inferred", "not stated by a fact"],
};

/** All rows, those that are known apart from those that are inferred. `asked` holds the four places as keys. */
export function answerRows(found, asked) {
  const groups = Object.entries(KINDS).map(([kind, [title, about]]) => {
    const rows = found.answers.filter((answer) => answer.known === (kind === "known"));
    return (
      rows.length > 0 &&
      h(
        "section",
        { class: `answers ${kind}`, "aria-label": `${title}: ${about}` },
        h("h3", {}, title, h("small", {}, kind === "inferred" && found.judged ? "no fact covers that date" : about)),
        h(
          "ol",
          {},
          rows.map((answer) => row(answer, found, asked)),
        ),
      )
    );
  });
  return h("div", { class: "found" }, groups, footnote(found));
}

function row(answer, found, asked) {
  const fact = { ...asked, [found.asks]: answer.key };
  const panel = h("div", { class: "whypanel", hidden: true });
  const toggle = h(
    "button",
    {
      type: "button",
      class: "quiet small",
      "aria-expanded": "false",
      "aria-label": `Why ${visible(answer.name)}?`,
      onclick: () => {
        panel.hidden = !panel.hidden;
        toggle.setAttribute("aria-expanded", String(!panel.hidden));
        if (!panel.hidden && !panel.hasChildNodes()) why(panel, answer, found, asked);
      },
    },
    "why",
  );
  const name = found.asks === "predicate" ? named(answer.name) : entityLink(answer.name, answer.key);
  return h(
    "li",
    { class: "answer" },
    h("span", { class: "name" }, name),
    h("span", { class: "bar", "aria-hidden": "true", vars: { "--share": answer.probability } }, h("span", {})),
    h("span", { class: "share" }, percent(answer.probability)),
    h(
      "span",
      { class: "when" },
      answer.spans.length > 0
        ? h("a", { href: whenAddress(fact) }, spans(answer.spans))
        : h("a", { href: whenAddress(fact) }, "when?"),
    ),
    toggle,
    panel,
  );
}

function spans(all) {
  const shown = all.slice(0, 2).map(span).join("; ");
  return all.length > 2 ? `${shown} and ${plural(all.length - 2, "more span")}` : shown;
}

const whenAddress = ({ subject, predicate, object }) => address("when", { subject, predicate, object });

function footnote(found) {
  const notes = [];
  if (found.judged)
    notes.push(
      "Each percentage is the probability that the fact holds then. Several may hold at once, so they need not add up to 100 %.",
    );
  else notes.push("The percentages of all possible answers add up to 100 %.");
  if (found.beyond) notes.push("This is after the last date in the data: facts that begin later are not predicted.");
  notes.push(
    found.calibrated
      ? "They are calibrated on validation facts."
      : "They are not calibrated: trust their order, not their size.",
  );
  return h("p", { class: "note" }, notes.join(" "));
}
