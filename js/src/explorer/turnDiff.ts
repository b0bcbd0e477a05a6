/** Differences of two turns for the comparison: words, lists and calls side by side. */
import { diffArrays, diffWordsWithSpace } from "diff";
import type { CallBlock, Document } from "../protocol";

/** Characters above which two texts are compared as wholes, not word by word. */
const MAX_WORD_DIFF_CHARS = 8_000;

/** Limits of a comparison in steps and milliseconds; beyond them the texts differ as wholes. */
const DIFF_LIMITS = { maxEditLength: 800, timeout: 100 };

/** A piece of two texts: in both, or in one of them. */
export interface DiffPiece {
  text: string;
  side: "both" | "left" | "right";
}

/** Two things side by side; what one side has not is null. */
export interface Pair<T> {
  left: T | null;
  right: T | null;
}

/** Two texts in pieces. */
export function diffWords(left: string, right: string): DiffPiece[] {
  if (left === right) return left ? [{ text: left, side: "both" }] : [];
  if (left.length + right.length > MAX_WORD_DIFF_CHARS) {
    return [
      { text: left, side: "left" as const },
      { text: right, side: "right" as const },
    ].filter(({ text }) => text);
  }
  return (diffWordsWithSpace(left, right, DIFF_LIMITS) ?? wholeTexts(left, right)).map(
    ({ value, added, removed }) => ({
      text: value,
      side: removed ? "left" : added ? "right" : "both",
    }),
  );
}

/** Align two lists by equal keys; the items between are paired in order. */
export function alignLists<T>(left: readonly T[], right: readonly T[], key: (item: T) => string): Pair<T>[] {
  const pairs: Pair<T>[] = [];
  let [at, to] = [0, 0];
  let unmatched: { left: T[]; right: T[] } = { left: [], right: [] };
  const pairUnmatched = (): void => {
    for (let i = 0; i < Math.max(unmatched.left.length, unmatched.right.length); i++) {
      const [one, other] = [unmatched.left[i] ?? null, unmatched.right[i] ?? null];
      pairs.push({ left: one, right: other });
    }
    unmatched = { left: [], right: [] };
  };
  for (const { count, added, removed } of diffArrays(left.map(key), right.map(key), DIFF_LIMITS) ??
    wholeLists(left.length, right.length)) {
    if (removed) unmatched.left.push(...left.slice(at, at + count));
    else if (added) unmatched.right.push(...right.slice(to, to + count));
    else {
      pairUnmatched();
      for (let i = 0; i < count; i++)
        pairs.push({ left: left[at + i] ?? null, right: right[to + i] ?? null });
    }
    if (!added) at += count;
    if (!removed) to += count;
  }
  pairUnmatched();
  return pairs;
}

function wholeTexts(left: string, right: string): { value: string; added: boolean; removed: boolean }[] {
  return [
    { value: left, added: false, removed: true },
    { value: right, added: true, removed: false },
  ];
}

function wholeLists(left: number, right: number): { count: number; added: boolean; removed: boolean }[] {
  return [
    { count: left, added: false, removed: true },
    { count: right, added: true, removed: false },
  ];
}

/** The calls of two turns, side by side. */
export function callPairs(left: Document, right: Document): Pair<CallBlock>[] {
  return alignLists(callsOf(left), callsOf(right), (call) => call.name);
}

/** The prose of a turn, reply by reply. */
export function replyText(document: Document): string {
  return document.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
}

function callsOf(document: Document): CallBlock[] {
  return document.blocks.filter((block): block is CallBlock => block.kind === "call");
}
