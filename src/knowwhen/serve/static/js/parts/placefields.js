// The fields of a fact: subject, predicate and object.

import { nameField } from "./namefield.js";

export const PLACES = ["subject", "predicate", "object"];
const HINTS = { subject: "who or what", predicate: "does what", object: "whom or what" };

/** A field for each of `places`, with the values of an address; `changed(place)` is called when one was filled in. */
export function placeFields(parameters, { places = PLACES, askable = false, changed }) {
  const field = (place) =>
    nameField({
      label: place,
      kind: place === "predicate" ? "predicate" : "entity",
      value: parameters.get(place) ?? "",
      placeholder: HINTS[place],
      askable,
      changed: () => changed(place),
    });
  return Object.fromEntries(places.map((place) => [place, field(place)]));
}

/** Puts a suggested name where the one is that the server did not know. */
export function replaceUnknown(fields, error, name) {
  const unknown = /'(.+?)'/.exec(error.message)?.[1];
  const places = Object.keys(fields);
  const place = places.find((one) => fields[one].shown === unknown || fields[one].value === unknown) ?? places[0];
  fields[place].set(name, name);
}
