import { expect, test } from "vitest";
import type { Block, Document } from "../src/protocol";
import { apply, growing } from "../src/store";
import { Growing } from "../src/text/rope";
import { start } from "./page";

const BLOCK = { id: "1", kind: "text", text: "a", refusal: false, state: "open", more: {} } as const;

function after(document: Document, text: string): Document {
  return apply(document, { op: "extend", id: "1", field: "text", text });
}

function only(document: Document): Block {
  return document.blocks[0] as Block;
}

test("who has read a version of a text is given what came after it, and of another text nothing", () => {
  const early = Growing.of("a").plus("b");
  const late = early.plus("c").plus("").plus("d");

  expect(late.since(early)).toBe("cd");
  expect(late.since(late)).toBe("");
  expect(early.since(late)).toBeNull();
  expect(late.since(undefined)).toBeNull();
  expect(Growing.of("abcd").since(early)).toBeNull();
  expect([`${early}`, `${late}`, late.length]).toEqual(["ab", "abcd", 4]);
});

test("two texts that grow from the same version know nothing of each other", () => {
  const early = Growing.of("a");
  const [one, other] = [early.plus("b"), early.plus("c")];

  expect([`${one}`, `${other}`]).toEqual(["ab", "ac"]);
  expect(other.since(one)).toBeNull();
});

test("a block's text is read on while it is extended and ended, and anew where it is set", () => {
  const first = { ...start(), blocks: [BLOCK] };
  const second = after(first, "b");
  const ended = apply(after(second, "c"), { op: "update", id: "1", set: { state: "whole" } });
  const other = apply(ended, { op: "update", id: "1", set: { text: "abcd" } });

  expect(growing(only(second), "text").since(growing(only(first), "text"))).toBe("b");
  expect(growing(only(ended), "text").since(growing(only(second), "text"))).toBe("c");
  expect(growing(only(other), "text").since(growing(only(ended), "text"))).toBeNull();
  expect(only(ended)).toMatchObject({ text: "abc", state: "whole" });
});
