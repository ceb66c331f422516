// Reads /openapi.json and makes a form of every request. All text is set as text: nothing here is ever parsed as HTML.

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function visible(text) {
  return text.replace(CONTROL, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function headers() {
  const key = document.getElementById("key").value.trim();
  return key ? { Authorization: `Bearer ${key}` } : {};
}

function plain(schema) {
  return (schema.anyOf ?? [schema]).find((one) => one.type !== "null") ?? schema;
}

function field(parameter) {
  const schema = plain(parameter.schema);
  const example = parameter.schema.examples?.[0] ?? "";
  const name = parameter.name;
  let input;
  if (schema.enum || schema.type === "boolean") {
    const options = ["", ...(schema.enum ?? ["true", "false"])];
    input = element("select", { name }, ...options.map((value) => element("option", { value }, value)));
  } else if (schema.type === "array") {
    input = element("textarea", { name, placeholder: "one per line", rows: 2 });
    input.dataset.many = "yes";
  } else {
    input = element("input", { name, value: parameter.required ? example : "", placeholder: String(example) });
    input.inputMode = ["integer", "number"].includes(schema.type) ? "decimal" : "text";
  }
  input.required = Boolean(parameter.required);
  input.dataset.place = parameter.in;
  const about = [parameter.description ?? "", parameter.required ? "Required." : ""].filter(Boolean).join(" ");
  return element("label", {}, element("code", {}, name), input, element("small", {}, about));
}

function resolve(document, schema) {
  return schema?.$ref ? schema.$ref.split("/").slice(1).reduce((at, part) => at[part], document) : schema;
}

function bodyField(document, operation) {
  const schema = resolve(document, operation.requestBody?.content?.["application/json"]?.schema);
  if (!schema) return null;
  const example = schema.examples?.[0] ?? {};
  const input = element("textarea", { name: "body", value: JSON.stringify(example, null, 2), spellcheck: false });
  return element("label", {}, element("code", {}, "JSON"), input);
}

function addressOf(path, form) {
  const query = new URLSearchParams();
  let address = path;
  for (const input of form.querySelectorAll("[data-place]")) {
    const values = input.dataset.many ? input.value.split("\n").filter(Boolean) : input.value ? [input.value] : [];
    if (input.dataset.place === "path") address = address.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else values.forEach((value) => query.append(input.name, value));
  }
  return query.size ? `${address}?${query}` : address;
}

async function send(path, method, form, shown) {
  const options = { method: method.toUpperCase(), headers: headers() };
  if (form.elements.body) {
    options.body = form.elements.body.value;
    options.headers["Content-Type"] = "application/json";
  }
  const address = addressOf(path, form);
  const began = performance.now();
  try {
    const response = await fetch(address, options);
    const text = await response.text();
    const took = `${Math.round(performance.now() - began)} ms`;
    const isJson = (response.headers.get("content-type") ?? "").includes("json");
    shown.className = response.ok ? "" : "wrong";
    const body = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text;
    shown.textContent = visible(`${options.method} ${address}\n${response.status} in ${took}\n\n${body}`);
  } catch (error) {
    shown.className = "wrong";
    shown.textContent = `${options.method} ${address}\nno answer: ${error.message}`;
  }
  shown.hidden = false;
}

function operationView(document, path, method, operation) {
  const shown = element("pre", { hidden: true, tabIndex: 0 });
  const form = element("form", {}, ...(operation.parameters ?? []).map(field));
  const body = bodyField(document, operation);
  if (body) form.append(body);
  form.append(element("button", { type: "submit" }, "Send"), shown);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(path, method, form, shown);
  });
  const name = element("span", { className: "method" }, method.toUpperCase());
  const about = element("span", { className: "about" }, ` ${operation.description ?? ""}`);
  return element("details", { id: operation.operationId }, element("summary", {}, name, element("code", {}, path), about), form);
}

async function show() {
  const main = document.getElementById("operations");
  const response = await fetch("/openapi.json", { headers: headers() });
  if (!response.ok) {
    main.replaceChildren(element("p", { className: "wrong" }, (await response.json()).detail));
    return;
  }
  const description = await response.json();
  const byTag = new Map();
  for (const [path, operations] of Object.entries(description.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const tag = operation.tags?.[0] ?? "other";
      byTag.set(tag, [...(byTag.get(tag) ?? []), operationView(description, path, method, operation)]);
    }
  }
  main.replaceChildren(...[...byTag].flatMap(([tag, views]) => [element("h2", {}, tag), ...views]));
  document.getElementById(location.hash.slice(1))?.setAttribute("open", "");
}

const key = document.getElementById("key");
key.value = sessionStorage.getItem("knowwhen-key") ?? "";
key.addEventListener("change", () => {
  sessionStorage.setItem("knowwhen-key", key.value.trim());
  show();
});
show();
