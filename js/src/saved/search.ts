/** The search in a saved turn: which blocks contain the words, and their highlighting. */
import type { Block, CallBlock } from "../protocol";

const HIGHLIGHT = "nb-search-match";

/** Ranges of one turn that are marked at once. */
const MAX_HIGHLIGHTS = 1_000;

/** Which of the blocks say a word: their places, in order. */
export function matchingBlocks(blocks: readonly Block[], word: string): number[] {
  const wanted = word.trim().toLowerCase();
  if (!wanted) return [];
  return blocks.flatMap((block, at) =>
    searchableTexts(block).some((text) => containsWord(text, wanted)) ? [at] : [],
  );
}

/** Everything of a block that can be read on the page. */
export function searchableTexts(block: Block): string[] {
  if (block.kind !== "call") return [block.text];
  const { name, progress, result, reason, resolved, decisions } = block;
  const referenceTexts = Object.entries(resolved).flatMap(([argument, told]) => [
    argument,
    told.text,
    ...told.references.flatMap((one) => [one.name, one.text]),
  ]);
  const decisionTexts = decisions.flatMap((decision) => [decision.by, decision.reason]);
  return [
    name,
    readableArguments(block),
    progress,
    result,
    reason,
    ...referenceTexts,
    ...decisionTexts,
    ...previewTexts(block),
  ];
}

/** Arguments with their escapes undone, so that the second line of a text is found as it is read. */
function readableArguments({ arguments: text }: CallBlock): string {
  return text.replaceAll("\\n", "\n").replaceAll('\\"', '"');
}

function previewTexts({ glances = {} }: CallBlock): string[] {
  return Object.values(glances).flatMap(({ columns, rows }) => [...columns, ...rows.flat()]);
}

function containsWord(text: string, wanted: string): boolean {
  return text.toLowerCase().includes(wanted);
}

/** Highlight all occurrences of a word in an element, without changing the DOM; return the first one after a node. */
export function highlightMatches(el: Element, word: string, within: Element | null): Range | null {
  const wanted = word.trim().toLowerCase();
  const ranges = wanted ? findRanges(el, wanted) : [];
  const marks = typeof Highlight === "function" ? CSS.highlights : undefined;
  if (ranges.length) marks?.set(HIGHLIGHT, new Highlight(...ranges));
  else marks?.delete(HIGHLIGHT);
  return ranges.find((range) => within?.contains(range.startContainer)) ?? null;
}

/** The places of a text in an element, at most `MAX_HIGHLIGHTS`; it is in lower case. */
export function findRanges(el: Element, wanted: string): Range[] {
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  for (let node = walker.nextNode(); node && ranges.length < MAX_HIGHLIGHTS; node = walker.nextNode()) {
    const text = lowerInPlace(node.nodeValue ?? "");
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Lower-case a text without moving a character of it, as `İ`, which is two in lower case, would. */
function lowerInPlace(text: string): string {
  const lower = text.toLowerCase();
  if (lower.length === text.length) return lower;
  const letters = Array.from(text, (letter) => {
    const one = letter.toLowerCase();
    return one.length === letter.length ? one : letter;
  });
  return letters.join("");
}

/** Open every fold that a block lies in, and its own. */
export function openAncestors(block: Element): void {
  for (let fold = block.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null)
    fold.open = true;
  for (const fold of block.querySelectorAll("details")) fold.open = true;
}
