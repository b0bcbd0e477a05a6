import { Growing } from "../../text/rope";

const BLANK = /\n[ \t]*\n/;

/** The beginning of a blank line. */
const PENDING = /\n[ \t]*$/;

/** A block that is too long to be read: it stands as it was written, up to the first blank line after its limit. */
export class Rough {
  text = Growing.of("");
  #left: number;
  #held = "";

  constructor(limit: number) {
    this.#left = limit;
  }

  /** Read on; gives what follows its end, and null where it goes on. */
  read(news: string, open: boolean): string | null {
    const begin = news.slice(0, this.#left);
    this.#left -= begin.length;
    this.text = this.text.plus(begin);
    const rest = this.#held + news.slice(begin.length);
    const found = BLANK.exec(rest);
    const end = found?.index ?? (open ? rest.search(PENDING) : -1);
    this.text = this.text.plus(end < 0 ? rest : rest.slice(0, end));
    if (found) return rest.slice(found.index + found[0].length);
    this.#held = end < 0 ? "" : rest.slice(end);
    return null;
  }
}
