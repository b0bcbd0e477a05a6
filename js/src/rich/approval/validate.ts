import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { ownProperty } from "../../views/approval/pending";
import { type ArgumentEntry, parseJson } from "./argumentText";

/** What is wrong with each argument, by its name. Python checks again; this spares the person a call that is refused. */
export type ArgumentErrors = Record<string, string>;

type Json = Record<string, unknown>;

/** Keywords that only say that something below them is wrong. */
const WRAPPERS = [
  "anyOf",
  "oneOf",
  "allOf",
  "$ref",
  "properties",
  "items",
  "additionalProperties",
  "prefixItems",
];

/** Check arguments against the tool's schema. Only the kernel knows the value of a reference. */
export function validateArguments(schema: Json, entries: ArgumentEntry[]): ArgumentErrors {
  const properties = asObject(schema.properties);
  const isClosed = schema.additionalProperties === false;
  const invalid = entries.map(({ name, raw }) => [
    name,
    isClosed && !Object.hasOwn(properties, name)
      ? "The tool has no such argument."
      : validateValue(raw, ownProperty(properties, name), schema),
  ]);
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const names = new Set(entries.map(({ name }) => name));
  const missing = required
    .filter((name) => !names.has(name))
    .map((name) => [name, "This argument is required."]);
  return Object.fromEntries([...invalid, ...missing].filter(([, problem]) => problem)) as ArgumentErrors;
}

function validateValue(raw: string, schema: unknown, { $defs }: Json): string {
  const value = parseJson(raw);
  if (value === undefined) return "This is not JSON: put a text in quotes.";
  if (raw.includes("$VAR_REF{{") || typeof schema !== "object" || schema === null) return "";
  try {
    const safe = withoutPatterns({ ...schema, ...(typeof $defs === "object" && { $defs }) }) as Schema;
    const { valid, errors } = new Validator(safe, "2020-12", false).validate(value);
    return valid ? "" : describeErrors(errors);
  } catch {
    return ""; // a schema that cannot be checked here; the kernel checks it
  }
}

/** A tool's own regular expressions are left to the kernel: one of a hostile server could hold up the page for ever. */
function withoutPatterns(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatterns);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, inner]) => !(key === "pattern" && typeof inner === "string") && key !== "patternProperties",
  );
  return Object.fromEntries(entries.map(([key, inner]) => [key, withoutPatterns(inner)]));
}

/** Say the deepest of the errors in plain words, with its place where it is inside the argument. */
function describeErrors(errors: OutputUnit[]): string {
  const leaves = errors.filter(({ keyword }) => !WRAPPERS.includes(keyword));
  const types = leaves.filter(({ keyword }) => keyword === "type");
  const first = leaves[0] ?? errors[0];
  if (!first) return "This does not fit the tool's schema.";
  const location = first.instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
  const message =
    types.length === leaves.length && types.length ? describeTypes(types) : describeError(first.error);
  return location ? `${location}: ${message}` : message;
}

function describeTypes(errors: OutputUnit[]): string {
  const pairs = errors.map(({ error }) => /type "(.*)" is invalid\. Expected "(.*)"/.exec(error));
  const expected = [...new Set(pairs.map((pair) => pair?.[2]?.replaceAll('", "', " or ")))];
  return `Expected ${expected.join(" or ")}, not ${pairs[0]?.[1]}.`;
}

function describeError(error: string): string {
  const choice = /^Instance does not match any of \[(.*)\]\.$/s.exec(error);
  return choice
    ? `Expected one of ${choice[1]?.replaceAll(",", ", ")}.`
    : error.replace(/^Instance /, "This ");
}

function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}
