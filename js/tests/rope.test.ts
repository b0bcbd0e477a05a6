import { expect, test } from "vitest";
import type { Block, Document } from "../src/protocol";
import { apply, ropeOf } from "../src/store";
import { Rope } from "../src/text/rope";
import { start } from "./page";

const BLOCK = { id: "1", kind: "text", text: "a", refusal: false, state: "open", more: {} } as const;

function after(document: Document, text: string): Document {
  return apply(document, { op: "extend", id: "1", field: "text", text });
}

function only(document: Document): Block {
  return document.blocks[0] as Block;
}

test("a reader of a version gets the text after it, and null for another text", () => {
  const early = Rope.from("a").append("b");
  const late = early.append("c").append("").append("d");

  expect(late.since(early)).toBe("cd");
  expect(late.since(late)).toBe("");
  expect(early.since(late)).toBeNull();
  expect(late.since(undefined)).toBeNull();
  expect(Rope.from("abcd").since(early)).toBeNull();
  expect([`${early}`, `${late}`, late.length]).toEqual(["ab", "abcd", 4]);
});

test("two texts that grow from the same version are independent", () => {
  const early = Rope.from("a");
  const [one, other] = [early.append("b"), early.append("c")];

  expect([`${one}`, `${other}`]).toEqual(["ab", "ac"]);
  expect(other.since(one)).toBeNull();
});

test("a block's rope continues while its text is extended, and restarts when the text is set", () => {
  const first = { ...start(), blocks: [BLOCK] };
  const second = after(first, "b");
  const ended = apply(after(second, "c"), { op: "update", id: "1", set: { state: "whole" } });
  const other = apply(ended, { op: "update", id: "1", set: { text: "abcd" } });

  expect(ropeOf(only(second), "text").since(ropeOf(only(first), "text"))).toBe("b");
  expect(ropeOf(only(ended), "text").since(ropeOf(only(second), "text"))).toBe("c");
  expect(ropeOf(only(other), "text").since(ropeOf(only(ended), "text"))).toBeNull();
  expect(only(ended)).toMatchObject({ text: "abc", state: "whole" });
});
