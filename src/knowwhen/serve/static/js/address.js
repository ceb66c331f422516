// Addresses of the views: what is shown is in the address, so that it can be shared and gone back to.

export const VIEWS = [
  { name: "ask", label: "Ask" },
  { name: "when", label: "When" },
  { name: "entity", label: "Entity" },
  { name: "compare", label: "Compare" },
  { name: "model", label: "The model" },
];

let run = null; // the chosen run; null: the server's first

/** What the present address says. */
export function here() {
  const parameters = new URLSearchParams(location.search);
  run = parameters.get("run");
  const name = location.pathname.replaceAll("/", "") || "ask";
  return { view: VIEWS.some((one) => one.name === name) ? name : "ask", parameters };
}

export const chosenRun = () => run;

/** The address of a view; lists are given several times. */
export function address(view, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...parameters, run: parameters.run ?? run })) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") query.append(name, one);
    }
  }
  const text = query.toString();
  return `/${view}${text ? `?${text}` : ""}`;
}

export const entityAddress = (key) => address("entity", { key });

/** Keeps an address without drawing again: a new step of the history, or in the place of the present one. */
export function remember(view, parameters, { push = false } = {}) {
  const to = address(view, parameters);
  if (to === location.pathname + location.search) return;
  history[push ? "pushState" : "replaceState"](null, "", to);
}

/** Goes to an address and has it drawn. */
export function go(to) {
  history.pushState(null, "", to);
  dispatchEvent(new PopStateEvent("popstate"));
}

/** Links to views are followed without loading the page again. */
export function followLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (!link || !plain || event.defaultPrevented || link.target || link.origin !== location.origin) return;
    const name = link.pathname.replaceAll("/", "");
    if (link.hash || (name && !VIEWS.some((one) => one.name === name))) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
