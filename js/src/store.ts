import type { Block, Document, Packed, Patch } from "./protocol";

/** Apply one patch: a new document that shares all that did not change. A patch for an unknown block changes nothing. */
export function apply(document: Document, patch: Patch): Document {
  switch (patch.op) {
    case "head":
      return { ...document, head: { ...document.head, ...patch.set } };
    case "open":
      return { ...document, blocks: [...document.blocks, patch.block] };
    case "extend":
      return changed(document, patch.id, (block) => {
        const before = (block as unknown as Record<string, string>)[patch.field] ?? "";
        return { ...block, [patch.field]: before + patch.text } as Block;
      });
    case "update":
      return changed(document, patch.id, (block) => ({ ...block, ...patch.set }) as Block);
  }
}

/** A patch as it was before it travelled. */
export function unpacked(patch: Packed): Patch {
  if (!Array.isArray(patch)) return patch;
  const [id, text, field = "text"] = patch;
  return { op: "extend", id, field, text };
}

function changed(document: Document, id: string, change: (block: Block) => Block): Document {
  const at = document.blocks.findLastIndex((block) => block.id === id);
  const block = document.blocks[at];
  return block ? { ...document, blocks: document.blocks.with(at, change(block)) } : document;
}
