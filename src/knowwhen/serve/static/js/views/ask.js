// Ask: four fields that read as a sentence, with ? in the one that is asked.

import { get, isOutdated, latest } from "../api.js";
import { chosenRun, remember } from "../address.js";
import { h, fill, say, visible } from "../dom.js";
import { percent, plural } from "../format.js";
import { answerRows } from "../parts/answers.js";
import { timeCurve } from "../parts/timecurve.js";
import { verdict } from "../parts/verdict.js";
import { examples } from "../parts/examples.js";
import { PLACES, placeFields, replaceUnknown } from "../parts/placefields.js";
import { empty, loading, problem } from "../parts/states.js";
import { timeField } from "../parts/timefield.js";

const SLOW = 150; // milliseconds before an answer's place says that it is being worked out

export function ask(main, { info, parameters }) {
  const settled = (place) => {
    keepOneAsked(place);
    run();
  };
  const names = placeFields(parameters, { askable: true, changed: settled });
  const time = timeField({
    times: info.times,
    value: parameters.get("time") ?? "",
    changed: (dragging) => {
      keepOneAsked("time");
      run({ dragging });
    },
  });
  const fields = { ...names, time };
  const within = h("span", { class: "word", "aria-hidden": "true" }, "in");
  const novel = h("input", { type: "checkbox", checked: parameters.get("novel") === "1", onchange: () => run() });
  const answers = h("div", { class: "results", "aria-busy": "false" });
  const only = latest();
  let top = Number(parameters.get("top")) || 10;
  let last = { address: null, announce: false, found: null }; // what was asked for last: the end of a drag asks nothing new

  /** Where two places would be asked for, the one that was asked before is to be filled in. */
  function keepOneAsked(changed) {
    if (!fields[changed].isAsked) return;
    for (const place of [...PLACES, "time"]) {
      if (place !== changed && fields[place].isAsked) fields[place].set("");
    }
  }

  const values = () => Object.fromEntries([...PLACES, "time"].map((place) => [place, fields[place].value]));

  async function run({ dragging = false, push = true, again = false } = {}) {
    const asked = values();
    within.hidden = !asked.time || fields.time.isAsked;
    within.textContent = /^-?\d+-\d\d-\d\d$/.test(asked.time) ? "on" : "in";
    const kept = { ...asked, novel: novel.checked ? "1" : "", top: top === 10 ? "" : top };
    remember("ask", kept, { push: push && !dragging });
    if (location.href === last.address && !again) {
      last.announce = true;
      if (last.found) say(summary(last.found));
      return;
    }
    const mine = (last = { address: location.href, announce: !dragging, found: null });
    const missing = PLACES.filter((place) => !asked[place]);
    if (missing.length) return showEmpty(missing);
    const waiting = setTimeout(() => fill(answers, loading()), dragging ? 2000 : SLOW);
    answers.setAttribute("aria-busy", "true");
    try {
      const found = await only((signal) => answer(asked, signal));
      mine.found = found;
      show(found, asked);
      if (mine.announce) say(summary(found));
    } catch (error) {
      if (isOutdated(error)) return;
      fill(
        answers,
        problem(error, {
          choose: (name) => {
            replaceUnknown(names, error, name);
            run();
          },
          retry: () => run({ again: true }),
        }),
      );
    } finally {
      clearTimeout(waiting);
    }
    answers.setAttribute("aria-busy", "false");
  }

  /** The request that fits: does it hold, what holds at a date beyond the data, or a question with ? in one place. */
  function answer(asked, signal) {
    const chosen = { ...asked, run: chosenRun() };
    const isAsked = [...PLACES, "time"].some((place) => fields[place].isAsked);
    if (!isAsked && asked.time) return get("/api/holds", chosen, signal);
    if (!isAsked) return get("/api/ask", { ...chosen, time: "?" }, signal);
    if (fields.time.isBeyond)
      return get("/api/as_of", { ...chosen, top }, signal).then((found) => ({ ...found, judged: true }));
    return get("/api/ask", { ...chosen, top, novel: novel.checked ? "true" : "" }, signal);
  }

  function show(found, asked) {
    if (found.asks === "time") fill(answers, timeCurve(found, asked, info));
    else if (!found.answers) fill(answers, verdict(found, asked, info));
    else if (!found.answers.length)
      fill(
        answers,
        empty(
          "Nothing found",
          h("p", {}, "All answers are known, or no answer is allowed. Show known answers, or ask about another time."),
        ),
      );
    else fill(answers, answerRows(found, asked), found.answers.length === top && top < 100 && more());
  }

  const more = () =>
    h(
      "p",
      {},
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            top *= 3;
            run();
          },
        },
        "More answers",
      ),
    );

  async function showEmpty(missing) {
    if (missing.length === PLACES.length) fill(answers, loading("Looking for examples", 3));
    try {
      fill(answers, await only(async () => (missing.length < PLACES.length ? incomplete(missing) : examples(info))));
    } catch (error) {
      if (isOutdated(error)) return;
      fill(answers, problem(error));
    }
    answers.setAttribute("aria-busy", "false"); // also of a question that was given up
  }

  const incomplete = (missing) =>
    empty(
      "The question is not complete",
      h("p", {}, `Fill in the ${missing.join(" and ")}, or type ? there to ask for it.`),
    );

  const submit = (event) => {
    event.preventDefault();
    keepOneAsked("subject");
    run({ again: true });
  };
  fill(
    main,
    h("h1", { class: "unseen" }, "Ask a question"),
    h(
      "form",
      { class: "sentence", onsubmit: submit },
      h(
        "div",
        { class: "fields" },
        PLACES.map((place) => fields[place].element),
        within,
        fields.time.element,
        h("button", { class: "primary" }, "Ask"),
      ),
      fields.time.panel,
      h("label", { class: "check" }, novel, " only new answers"),
    ),
    answers,
  );
  run({ push: false });
}

function summary(found) {
  if (found.asks === "time") return `Most probable: ${found.best}`;
  if (!found.answers) return `Probability that it holds: ${percent(found.probability)}`;
  const [best] = found.answers;
  return best
    ? `${plural(found.answers.length, "answer")}; first ${visible(best.name)}, ${percent(best.probability)}, ${best.known ? "known" : "inferred"}`
    : "Nothing found";
}
