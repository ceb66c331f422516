// Requests to the server, their errors as values, and how outdated ones are cancelled.

const KEY = "knowwhen-key";

/** What the server said was wrong: its text, and names that may have been meant. */
class Problem extends Error {
  constructor({ status = 0, detail = "", suggestions = [], error = "" }) {
    super(detail);
    Object.assign(this, { status, suggestions, error });
  }
}

export const isOutdated = (error) => error instanceof DOMException && error.name === "AbortError";

export function rememberKey(key) {
  sessionStorage.setItem(KEY, key);
}

function query(parameters) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "" && one !== false) found.append(name, one);
    }
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

async function send(address, options) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  let response;
  try {
    response = await fetch(address, { ...options, headers });
  } catch (error) {
    if (isOutdated(error)) throw error;
    throw new Problem({ detail: "The server does not answer. Is it still running?" });
  }
  const found = await response.json().catch((error) => {
    if (isOutdated(error)) throw error;
    return {};
  });
  if (!response.ok) {
    throw new Problem({
      detail: `The server answered with status ${response.status}.`,
      status: response.status,
      ...found,
    });
  }
  return found;
}

export const get = (path, parameters, signal) => send(path + query(parameters), { signal });

export const post = (path, body, signal) =>
  send(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });

/** An entity's key in a path: each part of a key with slashes is quoted by itself. */
export const entityPath = (key) => `/api/entity/${key.split("/").map(encodeURIComponent).join("/")}`;

/** A function that runs work with a signal, and aborts the work it ran before. */
export function latest() {
  let running = null;
  return async (work) => {
    running?.abort();
    const mine = (running = new AbortController());
    const found = await work(mine.signal);
    if (mine.signal.aborted) throw new DOMException("outdated", "AbortError");
    return found;
  };
}
