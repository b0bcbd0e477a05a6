import type { Block, CallBlock } from "../protocol";

const HIGHLIGHT = "nb-found";

/** Ranges of one turn that are marked at once. */
const MARKS = 1_000;

/** Which of the blocks say a word: their places, in order. */
export function finds(blocks: readonly Block[], word: string): number[] {
  const wanted = word.trim().toLowerCase();
  if (!wanted) return [];
  return blocks.flatMap((block, at) => (textsOf(block).some((text) => holds(text, wanted)) ? [at] : []));
}

/** Everything of a block that can be read on the page. */
export function textsOf(block: Block): string[] {
  if (block.kind !== "call") return [block.text];
  const { name, progress, result, reason, shown = "", resolved, decisions } = block;
  const cards = Object.entries(resolved).flatMap(([argument, told]) => [
    argument,
    told.text,
    ...told.references.flatMap((one) => [one.name, one.text]),
  ]);
  const told = decisions.flatMap((decided) => [decided.by, decided.reason]);
  return [name, written(block), progress, result, reason, shown, ...cards, ...told, ...glanced(block)];
}

/** Arguments with their escapes undone, so that the second line of a text is found as it is read. */
function written({ arguments: text }: CallBlock): string {
  return text.replaceAll("\\n", "\n").replaceAll('\\"', '"');
}

function glanced({ glances = {} }: CallBlock): string[] {
  return Object.values(glances).flatMap(({ columns, rows }) => [...columns, ...rows.flat()]);
}

function holds(text: string, wanted: string): boolean {
  return text.toLowerCase().includes(wanted);
}

/** Mark a word wherever it stands in an element, without changing the page; gives the first place after a node. */
export function mark(el: Element, word: string, within: Element | null): Range | null {
  const wanted = word.trim().toLowerCase();
  const ranges = wanted ? places(el, wanted) : [];
  const marks = typeof Highlight === "function" ? CSS.highlights : undefined;
  if (ranges.length) marks?.set(HIGHLIGHT, new Highlight(...ranges));
  else marks?.delete(HIGHLIGHT);
  return ranges.find((range) => within?.contains(range.startContainer)) ?? null;
}

function places(el: Element, wanted: string): Range[] {
  const walker = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  for (let node = walker.nextNode(); node && ranges.length < MARKS; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}

/** Open every fold that a block lies in, and its own. */
export function reveal(at: Element): void {
  for (let fold = at.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null)
    fold.open = true;
  for (const fold of at.querySelectorAll("details")) fold.open = true;
}
