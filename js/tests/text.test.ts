import { expect, test } from "vitest";
import { indentJson, longArguments, shortArguments } from "../src/text/argumentLines";
import { escapeInvisible, formatSeconds, parseObject, singleLine } from "../src/text/format";
import argumentLines from "./arguments.json";
import seconds from "./seconds.json";

test.each([
  ['{"ticker": "ACME", "n": 3}', 'ticker="ACME", n=3'],
  ['{"n":12345678901234567890,"x":1.0}', "n=12345678901234567890, x=1.0"],
  ['{"a": {"b": [1, 2]}, "c": null}', 'a={"b": [1, 2]}, c=null'],
  ['{"a b": 1}', '"a b"=1'],
  ['{"q": "a \\"quoted\\", {brace}: x"}', 'q="a \\"quoted\\", {brace}: x"'],
  ["", ""],
  ["{}", ""],
  ['{"tick', '{"tick'],
  ["[1, 2]", "[1, 2]"],
])("%j is shown on one line as %j", (text, line) => {
  expect(shortArguments(text)).toBe(line);
});

test.each(argumentLines as [string, string, string][])(
  "%j is shown as in a saved notebook",
  (text, line, whole) => {
    expect(shortArguments(text)).toBe(line);
    expect(longArguments(text)).toBe(whole);
  },
);

test.each(seconds as [number, string][])("%d seconds are %s, as in Python", (value, text) => {
  expect(formatSeconds(value)).toBe(text);
});

test.each([
  '{"a":1}',
  '{"a":{"b":[1,2,{"c":null}]},"d":"x, {y}: [z]","e":[],"f":{}}',
  '{"n":1e400,"n":12345678901234567890}',
])("indenting %j changes nothing but white space", (text) => {
  const tidy = indentJson(text);

  expect(tidy.replace(/\n */g, "").replaceAll(": ", ":")).toBe(text.replaceAll(": ", ":"));
  expect(tidy).toContain("\n");
});

test("a string in JSON keeps its every space", () => {
  expect(indentJson('{"a":"x  :  y , { z"}')).toBe('{\n  "a": "x  :  y , { z"\n}');
});

test("a text that is not JSON is unchanged", () => {
  expect(longArguments('{"a": ')).toBe('{"a": ');
});

test.each([
  ["a\u202eb", "a\\u{202e}b"],
  ["a\u200b\u3164\u{e0041}", "a\\u{200b}\\u{3164}\\u{e0041}"],
  ["a\x1b[1m\x00", "a\\u{001b}[1m\\u{0000}"],
  ["plain\ttext\nnaïve 日本語", "plain\ttext\nnaïve 日本語"],
])("%j is made visible", (hidden, shown) => {
  expect(escapeInvisible(hidden)).toBe(shown);
});

test("a long text becomes one short line", () => {
  expect(singleLine("word\n".repeat(1000), 20)).toHaveLength(20);
});

test.each([
  ["{}", {}],
  ["", {}],
  ["[]", null],
  ["null", null],
  ["1", null],
  ["{", null],
])("%j is an object or nothing", (text, value) => {
  expect(parseObject(text)).toEqual(value);
});

test.each([
  [0.004, "4 ms"],
  [0.31, "0.3 s"],
  [65, "1 min 5 s"],
])("%d seconds read as %j", (value, text) => {
  expect(formatSeconds(value)).toBe(text);
});
