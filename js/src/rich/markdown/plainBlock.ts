import { Rope } from "../../text/rope";

const BLANK = /\n[ \t]*\n/;

/** The beginning of a blank line. */
const PENDING = /\n[ \t]*$/;

/** A block that is too long to parse: shown unformatted, up to the first blank line after the limit. */
export class PlainBlock {
  text = Rope.from("");
  #remaining: number;
  #pending = "";

  constructor(limit: number) {
    this.#remaining = limit;
  }

  /** Read the next text; return what follows the end of the block, or null if it continues. */
  read(addition: string, open: boolean): string | null {
    const begin = addition.slice(0, this.#remaining);
    this.#remaining -= begin.length;
    this.text = this.text.append(begin);
    const rest = this.#pending + addition.slice(begin.length);
    const found = BLANK.exec(rest);
    const end = found?.index ?? (open ? rest.search(PENDING) : -1);
    this.text = this.text.append(end < 0 ? rest : rest.slice(0, end));
    if (found) return rest.slice(found.index + found[0].length);
    this.#pending = end < 0 ? "" : rest.slice(end);
    return null;
  }
}
