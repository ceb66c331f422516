// The page: reads its address, draws that view, and keeps the frame around it.

import { get } from "./api.js";
import { address, chosenRun, followLinks, go, here, VIEWS } from "./address.js";
import { h, fill, visible } from "./dom.js";
import { loading, problem } from "./parts/states.js";
import { ask } from "./views/ask.js";
import { compare } from "./views/compare.js";
import { entity } from "./views/entity.js";
import { model } from "./views/model.js";
import { when } from "./views/when.js";
import { themeButton } from "./theme.js";

const DRAW = { ask, when, entity, compare, model };
const main = document.getElementById("main");
const infos = new Map(); // of runs, so that a change of view asks once

function infoOf(run) {
  if (!infos.has(run)) {
    const asked = get("/api/info", { run });
    infos.set(run, asked);
    asked.catch(() => infos.delete(run));
  }
  return infos.get(run);
}

let drawn = 0;

async function draw({ first = false } = {}) {
  const mine = ++drawn;
  const { view, parameters } = here();
  document.title = `${VIEWS.find((one) => one.name === view).label} · knowwhen`;
  drawViews(view);
  if (first) fill(main, loading("Opening the model"));
  let info;
  try {
    info = await infoOf(chosenRun());
  } catch (error) {
    if (mine !== drawn) return;
    return fill(main, problem(error, { retry: () => draw({ first: true }) }));
  }
  if (mine !== drawn) return; // another address came first
  drawFrame(info);
  DRAW[view](main, { info, parameters });
  if (!first) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

function drawViews(current) {
  fill(
    document.getElementById("views"),
    VIEWS.map(({ name, label }) =>
      h("a", { href: address(name), "aria-current": name === current ? "page" : undefined }, label),
    ),
  );
}

function drawFrame(info) {
  const choice =
    info.runs.length > 1 &&
    h(
      "label",
      { class: "run" },
      h("span", { class: "unseen" }, "Model"),
      h(
        "select",
        { onchange: (event) => go(address(here().view, { run: event.target.value })) },
        info.runs.map(({ run }) => h("option", { value: run, selected: run === info.run }, visible(run))),
      ),
    );
  fill(document.getElementById("tools"), choice, themeButton());
  fill(
    document.getElementById("bottom"),
    h(
      "p",
      {},
      "Answers come from a model trained on ",
      h("a", { href: address("model") }, visible(info.data.name)),
      ". Answers marked as inferred may be wrong.",
    ),
    h("p", {}, h("a", { href: "/docs" }, "API")),
  );
}

followLinks();
addEventListener("popstate", () => draw());
draw({ first: true });
