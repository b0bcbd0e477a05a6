/** Marks the words of a search in the turn that is open, without changing the DOM. */

import type { Block } from "../protocol";
import { findRanges, searchableTexts } from "../saved/search";

const HIGHLIGHT = "nb-x-words";

/** What the marks are in: not in the buttons and the facts of a turn. */
const SEARCHED = ".nb-x-prompt, .nb-x-round, .nb-notice";

/** Mark these words in a turn; without words, remove the marks. Returns the first range. */
export function markWords(turn: Element, words: readonly string[]): Range | null {
  const places = [...turn.querySelectorAll(SEARCHED)];
  const ranges = places.flatMap((place) => words.flatMap((word) => findRanges(place, word)));
  const marks = typeof Highlight === "function" ? CSS.highlights : undefined;
  if (ranges.length) marks?.set(HIGHLIGHT, new Highlight(...ranges));
  else marks?.delete(HIGHLIGHT);
  return ranges[0] ?? null;
}

/** Whether a folded block has a searched word that the open texts of its turn lack. */
export function hasHiddenWord(block: Block, words: readonly string[], openTexts: string): boolean {
  const hidden = words.filter((word) => !openTexts.includes(word));
  const texts = hidden.length ? searchableTexts(block).join("\n").toLowerCase() : "";
  return hidden.some((word) => texts.includes(word));
}

/** The texts of a turn that are read without opening a fold, in lower case. */
export function openTexts(prompt: string, blocks: readonly Block[]): string {
  const texts = blocks.flatMap((block) =>
    block.kind === "text" || block.kind === "notice" ? [block.text] : [],
  );
  return [prompt, ...texts].join("\n").toLowerCase();
}

/** An excerpt of the text with most of the words that the prompt lacks; empty if the prompt has all of them. */
export function excerpt(words: readonly string[], prompt: string, texts: readonly string[]): string {
  const wanted = words.filter((word) => !prompt.toLowerCase().includes(word));
  let [best, most, first] = ["", 0, 0];
  for (const text of texts) {
    const folded = text.toLowerCase();
    const places = wanted.map((word) => folded.indexOf(word)).filter((at) => at >= 0);
    if (places.length > most) [best, most, first] = [text, places.length, Math.min(...places)];
  }
  const start = Math.max(0, first - CHARS_BEFORE);
  return `${start ? "… " : ""}${best.slice(start, start + EXCERPT_CHARS)}`;
}

/** Characters of an excerpt, and of it before the word, as in nbtool/blocks/history/conversation_search.py. */
const EXCERPT_CHARS = 120;
const CHARS_BEFORE = 30;
