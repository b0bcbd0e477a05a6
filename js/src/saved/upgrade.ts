import type { Document, ResolvedShape } from "../protocol";

/** The format of references in older versions: frozen, independent of this version's. */
const OLD_LINE = /^\$VAR_REF\{\{(.*?)\}\}: (.*)$/s;

/** What older versions saved, in the form of this one; what is in it already stays the very same. */
export function upgrade(document: Document): Document {
  const isOlder = document.blocks.some(
    (block) => block.kind === "call" && Object.values(block.resolved).some((one) => typeof one === "string"),
  );
  if (!isOlder) return document;
  const blocks = document.blocks.map((block) => {
    if (block.kind !== "call") return block;
    const resolved = Object.entries(block.resolved as Record<string, ResolvedShape | string>).map(
      ([name, one]) => [name, typeof one === "string" ? parseLine(one) : one] as const,
    );
    return { ...block, resolved: Object.fromEntries(resolved) };
  });
  return { ...document, blocks };
}

function parseLine(line: string): ResolvedShape {
  const [, name, text = ""] = OLD_LINE.exec(line) ?? [];
  if (name === undefined) return { text: line, references: [], is_reference: false };
  return { text: "", references: [{ name, text, summary: text.split(": ")[0] ?? "" }], is_reference: true };
}
