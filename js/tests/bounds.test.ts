import { expect, test } from "vitest";
import { alignLists, diffWords } from "../src/explorer/turnDiff";
import { CODE_LIMIT, highlight } from "../src/rich/highlight";
import { parseLosslessJson, DEPTH_LIMIT as READ_DEPTH } from "../src/rich/log/json";
import { CELLS_LIMIT, COLUMNS_LIMIT, DEPTH_LIMIT, lex, MARKS_LIMIT } from "../src/rich/markdown/lexer";
import { INDENT_LIMIT, indentJson } from "../src/text/argumentLines";
import { limitStacks, STACK_LIMIT, StackLimiter } from "../src/text/combining";

const table = (columns: number, rows: number): string =>
  `${"|a".repeat(columns)}|\n${"|-".repeat(columns)}|\n${"|b|\n".repeat(rows)}`;

test("a table with too many columns or cells is shown unformatted", () => {
  expect(lex(table(COLUMNS_LIMIT, 3))[0]?.type).toBe("table");
  expect(lex(`${table(COLUMNS_LIMIT + 1, 3)}\nafter`).map(({ type }) => type)).toEqual([
    "plain",
    "space",
    "paragraph",
  ]);
  expect(lex(table(COLUMNS_LIMIT, CELLS_LIMIT / COLUMNS_LIMIT + 1))[0]?.type).toBe("plain");
});

test("a paragraph with too many marks is shown unformatted", () => {
  const inline = (text: string): string[] =>
    (lex(text)[0] as { tokens: { type: string }[] }).tokens.map(({ type }) => type);
  expect(inline("*a* ".repeat(MARKS_LIMIT / 2))).toContain("em");
  expect(inline("*a* ".repeat(MARKS_LIMIT / 2 + 1))).toEqual(["plain"]);
});

test("blocks that are nested too deeply are shown unformatted", () => {
  expect(JSON.stringify(lex(`${"> ".repeat(DEPTH_LIMIT - 1)}a`))).not.toContain("plain");
  expect(JSON.stringify(lex(`${"> ".repeat(DEPTH_LIMIT)}a`))).toContain("plain");
});

test("a stack of combining marks is cut and says so, in pieces too", () => {
  const stack = "\u0301".repeat(STACK_LIMIT);
  expect(limitStacks(`a${stack}`)).toBe(`a${stack}`);
  expect(limitStacks(`a${stack}\u0301\u0301b`)).toBe(`a${stack}[… 2 combining marks more]b`);
  const stacks = new StackLimiter();
  expect(stacks.push(`a${stack}`)).toBe(`a${stack}`);
  expect(stacks.push("\u0301b")).toBe("[… 1 combining marks more]b");
});

test("lists and texts that differ too much are compared as wholes", () => {
  const left = Array.from({ length: 3_000 }, (_, i) => `${(i * 7919) % 3_001}`);
  const right = [...left].reverse();
  expect(alignLists(left, right, (one) => one)).toHaveLength(3_000);
  const [one, other] = [left.slice(0, 900).join(" "), right.slice(0, 900).join(" ")];
  expect(diffWords(one, other).map(({ side }) => side)).toEqual(["left", "right"]);
});

test("code is coloured up to a length, and shown whole above it", () => {
  expect(highlight("a = 1\n".repeat(Math.floor(CODE_LIMIT / 6)), "python")).not.toBeNull();
  expect(highlight("a = 1\n".repeat(Math.floor(CODE_LIMIT / 6) + 1), "python")).toBeNull();
});

test("JSON is parsed up to a depth, and shown unformatted below it", () => {
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  expect(parseLosslessJson(nested(READ_DEPTH))).toBeDefined();
  expect(parseLosslessJson(nested(READ_DEPTH + 1))).toBeUndefined();
  expect(parseLosslessJson(`["${"[".repeat(1_000)}"]`)).toEqual(["[".repeat(1_000)]);
});

test("JSON is indented up to a depth, and stays as it was written below it", () => {
  const nested = (levels: number): string => `${"[".repeat(levels)}1${"]".repeat(levels)}`;
  expect(indentJson(nested(INDENT_LIMIT))).toContain("\n");
  expect(indentJson(nested(INDENT_LIMIT + 1))).toBe(nested(INDENT_LIMIT + 1));
  expect(indentJson('{"a": [1, {}], "b": []}')).toBe('{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}');
});
