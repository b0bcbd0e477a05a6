import { language } from "./blocks";

/** A code fence that is open: where its code begins, and how far it was searched for its end. */
export interface Fence {
  code: number;
  language: string;
  closing: RegExp;
  searched: number;
}

const OPENING = /(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n/y;

/** The fence that begins at a place in the text. */
export function fenceAt(text: string, start: number): Fence | null {
  OPENING.lastIndex = start;
  const [whole, mark = "", info] = OPENING.exec(text) ?? [];
  if (!whole) return null;
  const closing = new RegExp(`\\n {0,3}${mark[0]}{${mark.length},}[ \\t]*(?:\\n|$)`, "g");
  const code = start + whole.length;
  return { code, language: language(info?.trim()), closing, searched: code - 1 };
}

/** The code of a fence so far, and where the text goes on after it: -1 while it is open. */
export function readFence(fence: Fence, text: string, open: boolean): { code: string; end: number } {
  fence.closing.lastIndex = fence.searched;
  const found = fence.closing.exec(text);
  fence.searched = Math.max(fence.code - 1, text.lastIndexOf("\n"));
  const code = text.slice(fence.code, found ? Math.max(fence.code, found.index) : undefined);
  if (!found) return { code: begun(code, open), end: -1 };
  const end = found.index + found[0].length;
  if (!open || found[0].endsWith("\n")) return { code, end };
  fence.searched = Math.min(fence.searched, found.index); // its last line may still grow
  return { code, end: -1 };
}

/** The code so far without its last line end, and without a mark that may become the end of it; looks at its end alone. */
function begun(code: string, open: boolean): string {
  const last = code.lastIndexOf("\n");
  const end = open && last >= 0 && /^ {0,3}[`~]+$/.test(code.slice(last + 1)) ? last : code.length;
  return code.slice(0, code[end - 1] === "\n" ? end - 1 : end);
}
