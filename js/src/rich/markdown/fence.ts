/** A code fence that is still growing. */
import { Rope } from "../../text/rope";
import { language } from "./blocks";

const OPENING = /^(`{3,}(?=[^`\n]*\n)|~{3,})([^\n]*)\n/;

/** A last line that may become the end of a code. */
const ENDING = /^\n? {0,3}(?:[`~]+[ \t]*)?$/;

/** A code fence that is open: its code so far, without what may become its end. */
export class OpenFence {
  code = Rope.from("");
  #closing: RegExp;
  /** Its last line so far, and how much of that is in the code. */
  #line = "";
  #consumed = 0;

  constructor(
    mark: string,
    readonly language: string,
  ) {
    this.#closing = new RegExp(`(?:^|\\n) {0,3}${mark[0]}{${mark.length},}[ \\t]*(?:\\n|$)`);
  }

  /** Read the next text; return what follows the end of the block, or null if it continues. */
  read(addition: string, open: boolean): string | null {
    const text = this.#line + addition;
    const found = this.#closing.exec(text);
    const isEnd = found && (!open || found[0].endsWith("\n")); // else its last line may still grow
    const last = Math.max(0, text.lastIndexOf("\n"));
    const end = isEnd ? found.index : certainEnd(text, last, open);
    this.code = this.code.append(text.slice(this.#consumed, end));
    if (isEnd) return text.slice(found.index + found[0].length);
    this.#line = text.slice(last);
    this.#consumed = end - last;
    return null;
  }
}

/** Return the fence at the start of a text, and the text after its first line. */
export function openFenceAt(text: string): { fence: OpenFence; rest: string } | null {
  const [whole, mark = "", info] = OPENING.exec(text) ?? [];
  return whole
    ? { fence: new OpenFence(mark, language(info?.trim())), rest: text.slice(whole.length) }
    : null;
}

/** Return the length of a text that is certainly code: without its last line end, or a line that may not be code. */
function certainEnd(text: string, last: number, open: boolean): number {
  if (open && ENDING.test(text.slice(last))) return last;
  return text.endsWith("\n") ? text.length - 1 : text.length;
}
