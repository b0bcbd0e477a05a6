import { expect, test } from "vitest";
import { argumentEntries, toObject } from "../../src/rich/approval/argumentText";
import { hiddenRanges } from "../../src/rich/approval/hiddenCharacters";
import { detectLanguage } from "../../src/rich/approval/language";
import { redact, toRawSpan } from "../../src/rich/approval/redact";
import { validateArguments } from "../../src/rich/approval/validate";

test.each([
  [
    '{"a":1,"b":{"c":[1,{"d":"}"}]}}',
    [
      ["a", "1"],
      ["b", '{"c":[1,{"d":"}"}]}'],
    ],
  ],
  ['{ "n" : 12345678901234567890 }', [["n", "12345678901234567890"]]],
  ['{"a":"x","a":"y"}', [["a", '"y"']]],
  ['{"q\\"":"a,b:{"}', [['q"', '"a,b:{"']]],
  ["{}", []],
])("%s is read argument by argument, as it is written", (text, entries) => {
  expect(argumentEntries(text)?.map(({ name, raw }) => [name, raw])).toEqual(entries);
  expect(JSON.parse(toObject(argumentEntries(text) ?? []))).toEqual(JSON.parse(text));
});

test.each(["[1]", "null", "x", '{"a":', ""])("%j is no object", (text) => {
  expect(argumentEntries(text)).toBeNull();
});

const at = (schema: object, raw: string, more: object = {}): Record<string, string> =>
  validateArguments({ properties: { x: schema }, ...more }, [{ name: "x", raw }]);

test.each([
  [{ type: "integer" }, '"a"', "Expected integer, not string."],
  [{ anyOf: [{ type: "integer" }, { type: "null" }] }, '"a"', "Expected integer or null, not string."],
  [{ enum: ["a", "b"] }, '"c"', 'Expected one of "a", "b".'],
  [{ type: "number", maximum: 3 }, "4", "4 is greater than 3."],
  [{ type: "array", items: { type: "integer" } }, '[1,"a"]', "1: Expected integer, not string."],
  [{ type: "array" }, '"a"', "Expected list, not string."],
  [{ type: "string" }, "[1]", "Expected string, not list."],
  [{ $ref: "#/$defs/N" }, "true", "Expected number, not boolean."],
])("%j refuses %s", (schema, raw, problem) => {
  expect(at(schema, raw, { $defs: { N: { type: "number" } } })).toEqual({ x: problem });
});

test.each([
  [{ type: "integer" }, "5"],
  [{ type: "integer" }, '"$VAR_REF{{n}}"'],
  [{ type: "string", pattern: "^(a+)+$" }, JSON.stringify(`${"a".repeat(40)}!`)],
  [{ type: "object", properties: { pattern: { type: "string" } } }, '{"pattern": "x"}'],
  [{ $ref: "#/nowhere" }, "1"],
])("%j takes %s", (schema, raw) => {
  expect(at(schema, raw)).toEqual({});
});

test("an argument that the tool has not, and one that it must have, are named", () => {
  const schema = { properties: { y: {} }, required: ["y"], additionalProperties: false };

  expect(validateArguments(schema, [{ name: "x", raw: "1" }])).toEqual({
    x: "The tool has no such argument.",
    y: "This argument is required.",
  });
});

test.each([
  "\u202e",
  "\u200b",
  "\u00a0",
  "\u2003",
  "\u3000",
  "\u2066",
  "\ufeff",
  "\u0000",
  "\u{e0041}",
  "\u2028",
  "\u2800",
])("%j is shown as an escape", (odd) => {
  expect(Array.from(hiddenRanges(`a${odd}b`), ({ shown }) => shown)[1]).toMatch(/^\\u\{[0-9a-f]{4,5}\}$/);
});

test("what is common stays as it is", () => {
  expect([...hiddenRanges("a b\n\tç漢🙂")]).toEqual([{ raw: "a b\n\tç漢🙂", shown: "a b\n\tç漢🙂" }]);
});

test("a place in what is shown leads to its place in the text, and half an escape to the whole character", () => {
  const text = "ab\u200bcd";

  expect(toRawSpan(text, 1, 2)).toEqual({ start: 1, end: 2 });
  expect(toRawSpan(text, 1, 4)).toEqual({ start: 1, end: 3 });
  expect(toRawSpan(text, 5, 11)).toEqual({ start: 2, end: 4 });
  expect(toRawSpan(text, 3, 3)).toBeNull();
});

test("a redaction counts its places", () => {
  expect(redact("a-b-a", { start: 0, end: 1 }, true)).toEqual({ text: "[redacted]-b-[redacted]", count: 2 });
  expect(redact("a-b-a", { start: 4, end: 5 }, false)).toEqual({ text: "a-b-[redacted]", count: 1 });
  expect(redact("a", { start: 1, end: 1 }, true).count).toBe(0);
});

test.each([
  ["code", "x = 1", [], "python"],
  ["query", "SELECT 1", [], "sql"],
  ["query", "cheap tickers", [], ""],
  ["content", "a: 1", [["path", '"conf.yml"']], "yaml"],
  ["ticker", "ACME", [], ""],
])("%s %j is written in %s", (name, text, others, language) => {
  const entries = others.map(([key = "", raw = ""]) => ({ name: key, raw }));

  expect(detectLanguage({ name, raw: JSON.stringify(text) }, {}, entries)).toBe(language);
});
