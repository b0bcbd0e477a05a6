import type { Block, Document, Packed, Patch } from "./protocol";
import { Growing } from "./text/rope";

/** The texts of blocks that have grown here, by their fields. */
const grown = new WeakMap<Block, Record<string, Growing>>();

/** Apply one patch: a new document that shares all that did not change. A patch for an unknown block changes nothing. */
export function apply(document: Document, patch: Patch): Document {
  switch (patch.op) {
    case "head":
      return { ...document, head: { ...document.head, ...patch.set } };
    case "open":
      return { ...document, blocks: [...document.blocks, patch.block] };
    case "extend":
      return changed(document, patch.id, (block) => extended(block, patch.field, patch.text));
    case "update":
      return changed(document, patch.id, (block) => {
        const next = { ...block, ...patch.set } as Block;
        const known = Object.entries(grown.get(block) ?? {}).filter(([field]) => !(field in patch.set));
        grown.set(next, Object.fromEntries(known));
        return next;
      });
  }
}

/** A text of a block, for who reads on where it grows. */
export function growing(block: Block, field: string): Growing {
  const known = grown.get(block) ?? {};
  known[field] ??= Growing.of(textOf(block, field));
  grown.set(block, known);
  return known[field];
}

/** A patch as it was before it travelled. */
export function unpacked(patch: Packed): Patch {
  if (!Array.isArray(patch)) return patch;
  const [id, text, field = "text"] = patch;
  return { op: "extend", id, field, text };
}

function extended(block: Block, field: string, text: string): Block {
  const next = { ...block, [field]: textOf(block, field) + text } as Block; // engines join these only when they are read
  grown.set(next, { ...grown.get(block), [field]: growing(block, field).plus(text) });
  return next;
}

function textOf(block: Block, field: string): string {
  return (block as unknown as Record<string, string>)[field] ?? "";
}

function changed(document: Document, id: string, change: (block: Block) => Block): Document {
  const at = document.blocks.findLastIndex((block) => block.id === id);
  const block = document.blocks[at];
  return block ? { ...document, blocks: document.blocks.with(at, change(block)) } : document;
}
