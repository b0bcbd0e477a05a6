import { diffArrays, diffWordsWithSpace } from "diff";
import type { CallBlock, Document } from "../protocol";

/** Characters from which on two texts are told apart as wholes, not word by word. */
const WORD_BY_WORD = 8_000;

/** Steps and milliseconds that a comparison may take; what is further apart is told apart as a whole. */
const BOUNDS = { maxEditLength: 800, timeout: 100 };

/** A piece of two texts: in both, or in one of them. */
export interface Piece {
  text: string;
  side: "both" | "left" | "right";
}

/** Two things side by side; what one side has not is null. */
export interface Pair<T> {
  left: T | null;
  right: T | null;
}

/** Two texts in pieces. */
export function pieces(left: string, right: string): Piece[] {
  if (left === right) return left ? [{ text: left, side: "both" }] : [];
  if (left.length + right.length > WORD_BY_WORD) {
    return [
      { text: left, side: "left" as const },
      { text: right, side: "right" as const },
    ].filter(({ text }) => text);
  }
  return (diffWordsWithSpace(left, right, BOUNDS) ?? wholes(left, right)).map(
    ({ value, added, removed }) => ({
      text: value,
      side: removed ? "left" : added ? "right" : "both",
    }),
  );
}

/** Two lists side by side, aligned where their keys are the same; what stands between is paired in order. */
export function aligned<T>(left: readonly T[], right: readonly T[], key: (item: T) => string): Pair<T>[] {
  const pairs: Pair<T>[] = [];
  let [at, to] = [0, 0];
  let alone: { left: T[]; right: T[] } = { left: [], right: [] };
  const settle = (): void => {
    for (let i = 0; i < Math.max(alone.left.length, alone.right.length); i++) {
      const [one, other] = [alone.left[i] ?? null, alone.right[i] ?? null];
      pairs.push({ left: one, right: other });
    }
    alone = { left: [], right: [] };
  };
  for (const { count, added, removed } of diffArrays(left.map(key), right.map(key), BOUNDS) ??
    paired(left.length, right.length)) {
    if (removed) alone.left.push(...left.slice(at, at + count));
    else if (added) alone.right.push(...right.slice(to, to + count));
    else {
      settle();
      for (let i = 0; i < count; i++)
        pairs.push({ left: left[at + i] ?? null, right: right[to + i] ?? null });
    }
    if (!added) at += count;
    if (!removed) to += count;
  }
  settle();
  return pairs;
}

function wholes(left: string, right: string): { value: string; added: boolean; removed: boolean }[] {
  return [
    { value: left, added: false, removed: true },
    { value: right, added: true, removed: false },
  ];
}

function paired(left: number, right: number): { count: number; added: boolean; removed: boolean }[] {
  return [
    { count: left, added: false, removed: true },
    { count: right, added: true, removed: false },
  ];
}

/** The calls of two turns, side by side. */
export function callPairs(left: Document, right: Document): Pair<CallBlock>[] {
  return aligned(calls(left), calls(right), (call) => call.name);
}

/** The prose of a turn, reply by reply. */
export function proseOf(document: Document): string {
  return document.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
}

function calls(document: Document): CallBlock[] {
  return document.blocks.filter((block): block is CallBlock => block.kind === "call");
}
