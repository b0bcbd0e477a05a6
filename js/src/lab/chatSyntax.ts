/** The marks of a `%%chat` cell that its parser knows: flags of the first line, mentions and references. */
import type { BlockContext, InlineContext, MarkdownConfig, SyntaxElement, Tags } from "./codemirror";

/** Blank characters before the magic of a cell that are looked at. */
export const MAX_BLANK = 100;

/** Characters of the first line that are coloured; the others stay plain. */
const MAX_LINE = 2_000;

/** Characters of a mention or reference that is coloured. */
const MAX_MENTION = 200;

const MAGIC = /^\s*%%(\w{1,40})(?!\S)/;

/** The names of nbtool's magic, and at most so many others that people gave it. */
const magics = new Set(["chat", "nbchat"]);
const MAX_MAGICS = 6;

/** Magics of others, which no saved turn below them makes nbtool's. */
const FOREIGN_MAGICS = new Set(
  (
    "bash capture cmd code_wrap cython debug file html HTML javascript js latex markdown mprun perl prun pypy python python2 " +
    "python3 R ruby script sh sql svg SVG sx system time timeit writefile"
  ).split(" "),
);
const listeners = new Set<() => void>();
const WORD = /"(?:\\.|[^"\\])*"|'[^']*'|[^\s"']+/g;
const MENTION = /^(?:[$&]`[A-Za-z_]\w*`|&`[A-Za-z_][\w-]*\.[\w./-]+`|\$VAR_REF\{\{[^{}\n]+\}\})/;
const DOLLAR = 36;
const AMPERSAND = 38;

/** Whether a cell that begins with this text is one of nbtool's own magic. */
export function isChatCell(start: string): boolean {
  return magics.has(MAGIC.exec(start)?.[1] ?? "");
}

/** Whether a cell begins with nbtool's own magic, for a whole cell or for one line. */
export function isCommandCell(start: string): boolean {
  return isChatCell(start.replace(/^\s*%(?=\w)/, "%%"));
}

/**
 * Take the magic of a cell for nbtool's own, because a turn of nbtool is below it: a name set in ipython_config.py is
 * known to the kernel alone. A turn may be forged, so that this decides about colours and nothing else.
 */
export function learnMagic(source: string): void {
  const name = MAGIC.exec(source.slice(0, MAX_BLANK + 50))?.[1];
  if (!name || magics.has(name) || FOREIGN_MAGICS.has(name) || magics.size >= MAX_MAGICS) return;
  magics.add(name);
  for (const listener of listeners) listener();
}

/** Call a listener when a magic was learnt; return a function that removes it. */
export function onMagicLearnt(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return what Markdown needs to read a `%%chat` cell. */
export function chatSyntax(tags: Tags): MarkdownConfig {
  return {
    defineNodes: [
      { name: "ChatLine", block: true },
      { name: "ChatMagic", style: tags.operator },
      { name: "ChatFlag", style: tags.attributeName },
      { name: "ChatText", style: tags.string },
      { name: "ChatTool", style: tags.standard(tags.variableName) },
      { name: "ChatReference", style: tags.special(tags.variableName) },
    ],
    parseBlock: [{ name: "ChatLine", before: "LinkReference", parse: parseLine }],
    parseInline: [{ name: "ChatMention", before: "Escape", parse: parseMention }],
  };
}

function parseLine(context: BlockContext, { text }: { readonly text: string }): boolean {
  if (context.lineStart > MAX_BLANK || !isChatCell(text)) return false;
  const children: SyntaxElement[] = [];
  for (const { 0: word, index } of text.slice(0, MAX_LINE).matchAll(WORD)) {
    const name = nameOf(word, children.length === 0);
    if (name)
      children.push(context.elt(name, context.lineStart + index, context.lineStart + index + word.length));
  }
  context.addElement(context.elt("ChatLine", context.lineStart, context.lineStart + text.length, children));
  context.nextLine();
  return true;
}

/** Return the syntax node of a word of the first line; none for a plain one. */
function nameOf(word: string, isFirst: boolean): string {
  if (isFirst) return "ChatMagic";
  if (/^--?[A-Za-z]/.test(word)) return "ChatFlag";
  return /^["']/.test(word) ? "ChatText" : "";
}

function parseMention(context: InlineContext, next: number, at: number): number {
  if (next !== DOLLAR && next !== AMPERSAND) return -1;
  const before = at > context.offset ? context.slice(at - 1, at) : "";
  const found = MENTION.exec(context.slice(at, Math.min(context.end, at + MAX_MENTION)))?.[0];
  if (!found || /\w/.test(before)) return -1;
  const name = next === AMPERSAND ? "ChatTool" : "ChatReference";
  return context.addElement(context.elt(name, at, at + found.length));
}
