/** The document of a turn in the page: patches of the kernel applied to it, unchanged parts shared. */
import type { Block, Document, EncodedPatch, Patch } from "./protocol";
import { Rope } from "./text/rope";

/** The texts of blocks that were appended to, by field. */
const ropes = new WeakMap<Block, Record<string, Rope>>();

/** Apply one patch: return a new document that shares unchanged parts. A patch for an unknown block changes nothing. */
export function apply(document: Document, patch: Patch): Document {
  switch (patch.op) {
    case "head":
      return { ...document, head: { ...document.head, ...patch.set } };
    case "open":
      return { ...document, blocks: [...document.blocks, patch.block] };
    case "extend":
      return replaceBlock(document, patch.id, (block) => appendText(block, patch.field, patch.text));
    case "update":
      return replaceBlock(document, patch.id, (block) => {
        const next = { ...block, ...patch.set } as Block;
        const keptRopes = Object.entries(ropes.get(block) ?? {}).filter(([field]) => !(field in patch.set));
        ropes.set(next, Object.fromEntries(keptRopes));
        return next;
      });
  }
}

/** Return a text of a block as a rope, for readers of what is appended. */
export function ropeOf(block: Block, field: string): Rope {
  const blockRopes = ropes.get(block) ?? {};
  blockRopes[field] ??= Rope.from(textOf(block, field));
  ropes.set(block, blockRopes);
  return blockRopes[field];
}

/** Decode a patch. */
export function decodePatch(patch: EncodedPatch): Patch {
  if (!Array.isArray(patch)) return patch;
  const [id, text, field = "text"] = patch;
  return { op: "extend", id, field, text };
}

function appendText(block: Block, field: string, text: string): Block {
  const next = { ...block, [field]: textOf(block, field) + text } as Block; // engines join these only when they are read
  ropes.set(next, { ...ropes.get(block), [field]: ropeOf(block, field).append(text) });
  return next;
}

function textOf(block: Block, field: string): string {
  return (block as unknown as Record<string, string>)[field] ?? "";
}

function replaceBlock(document: Document, id: string, update: (block: Block) => Block): Document {
  const at = document.blocks.findLastIndex((block) => block.id === id);
  const block = document.blocks[at];
  return block ? { ...document, blocks: document.blocks.with(at, update(block)) } : document;
}
