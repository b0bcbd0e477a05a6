/** Checks edited arguments against the tool's schema. */
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

/** The key of the class in the schema of an argument that is only a reference; see nbtool/tools/schema/annotations.py. */
export const REFERENCE_TYPE = "x-nbtool-reference";

/** What a value of each type looks like. */
const EXAMPLES: Record<string, string> = {
  integer: "an integer, such as 3",
  number: "a number, such as 2.5",
  boolean: "true or false",
  object: 'an object, such as {"name": 1}',
  null: "null",
  string: "a text in quotes",
};

/** Items of a list, by their type. */
const ITEMS: Record<string, string> = {
  string: '["a", "b"]',
  number: "[1.5, 2.5]",
  boolean: "[true, false]",
  object: '[{"name": 1}]',
  array: "[[1, 2], [3, 4]]",
};

/** What a value of a schema looks like; undefined where that is not known. */
function exampleOf({ type, items }: Json): string | undefined {
  if (type !== "array") return ownProperty(EXAMPLES, String(type));
  return `a list, such as ${ownProperty(ITEMS, String(asObject(items).type)) ?? "[1, 2]"}`;
}

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
  if (value === undefined) return describeNotJson(schema);
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
  const isReference = typeof (value as Json)[REFERENCE_TYPE] === "string";
  return {
    ...Object.fromEntries(entries.map(([key, inner]) => [key, withoutPatterns(inner)])),
    ...(isReference && { pattern: "^\\$VAR_REF\\{\\{" }),
  };
}

/** Say what to type instead of what is no JSON, by the type of the argument. */
function describeNotJson(schema: unknown): string {
  const { type, anyOf, items } = asObject(schema);
  const options = Array.isArray(anyOf)
    ? anyOf.map(asObject)
    : [type].flat().map((one) => ({ type: one, items }));
  const examples = options.map(exampleOf);
  const isKnown = examples.length > 0 && examples.every(Boolean);
  return isKnown
    ? `Expected ${[...new Set(examples)].join(", or ")}.`
    : "This is not JSON: put a text in quotes.";
}

/** Say the deepest of the errors in plain words, with its place where it is inside the argument. */
function describeErrors(errors: OutputUnit[]): string {
  const leaves = errors.filter(({ keyword }) => !WRAPPERS.includes(keyword));
  const types = leaves.filter(({ keyword }) => keyword === "type");
  const first = leaves.find(({ keyword }) => keyword === "pattern") ?? leaves[0] ?? errors[0];
  if (!first) return "This does not fit the tool's schema.";
  const location = first.instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
  const message =
    first.keyword === "pattern" // the only one that is left
      ? `Expected ${[...expectedTypes(types), "a reference, such as $VAR_REF{{name}}"].join(" or ")}.`
      : types.length === leaves.length && types.length
        ? describeTypes(types)
        : describeError(first.error);
  return location ? `${location}: ${message}` : message;
}

function describeTypes(errors: OutputUnit[]): string {
  return `Expected ${expectedTypes(errors).join(" or ")}, not ${typePair(errors[0]?.error ?? "")[0]}.`;
}

function expectedTypes(errors: OutputUnit[]): string[] {
  return [...new Set(errors.map(({ error }) => typePair(error)[1]))];
}

/** The word for a type of JSON. */
export function typeWord(type: string): string {
  return type === "array" ? "list" : type;
}

/** The actual and the expected type of an error. */
function typePair(error: string): [string, string] {
  const pair = /type "(.*)" is invalid\. Expected "(.*)"/.exec(error);
  const [actual, expected] = [pair?.[1] ?? "", pair?.[2] ?? ""];
  return [typeWord(actual), expected.split('", "').map(typeWord).join(" or ")];
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
