/** The tokenizer of Markdown without raw HTML, with limits of marks, columns, cells and nesting. */
import { Lexer, type Token, Tokenizer, type Tokens } from "marked";

/** Maximum marks in a paragraph, heading or cell; one with more is shown unformatted. */
export const MARKS_LIMIT = 200;

/** Maximum columns of a table, and cells of all tables of a text; one with more is shown unformatted. */
export const COLUMNS_LIMIT = 100;
export const CELLS_LIMIT = 10_000;

/** Maximum nesting of quotes and lists; deeper ones are shown unformatted. */
export const DEPTH_LIMIT = 20;

const MARK_CHARACTERS = /[*_~`[\]<&\\$!|]/g;
const TABLE = /^[^\n]*\n {0,3}([|:-][ :|-]*)(?:\n|$)/;

/** marked's lexer without what a model must not have: raw HTML, and definitions that reach back into settled text. */
class PlainTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
  override def(): undefined {}

  override table(src: string): Tokens.Table | undefined {
    const columns = TABLE.exec(src)?.[1]?.split("|").length;
    if (columns === undefined) return super.table(src);
    const raw = src.slice(0, BLANK.exec(src)?.index);
    const cells = columns * (raw.match(/\n/g)?.length ?? 0);
    if (columns <= COLUMNS_LIMIT + 2 && cells <= CELLS_LIMIT) return super.table(src);
    return { type: "plain", raw, text: raw } as unknown as Tokens.Table;
  }
}

/** A lexer whose work is bounded: what has too many marks, or lies too deep, is a token `plain`. */
class BoundedLexer extends Lexer {
  #depth = 0;

  override blockTokens(src: string, tokens: Token[] = [], clipped?: boolean): never {
    if (this.#depth >= DEPTH_LIMIT) {
      tokens.push({ type: "plain", raw: src, text: src });
      return tokens as never;
    }
    this.#depth++;
    try {
      return super.blockTokens(src, tokens, clipped) as never;
    } finally {
      this.#depth--;
    }
  }

  override inlineTokens(src: string, tokens: Token[] = []): Token[] {
    if ((src.match(MARK_CHARACTERS)?.length ?? 0) <= MARKS_LIMIT) return super.inlineTokens(src, tokens);
    tokens.push({ type: "plain", raw: src, text: src });
    return tokens;
  }
}

/** A formula; `raw` is all that was written, marks and all. */
export interface MathToken {
  type: "math";
  raw: string;
  tex: string;
  display: boolean;
}

/** Where a note is referred to. */
export interface FootnoteRef {
  type: "notemark";
  raw: string;
  label: string;
}

/** Notes in a row, each under its label. */
export interface FootnotesToken {
  type: "notes";
  raw: string;
  notes: { label: string; tokens: Token[] }[];
}

const DISPLAY = /^ {0,3}(?:\$\$(?!\$)([^$]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n+|$)/;
const BLANK = /\n[ \t]*\n/;
const INLINE =
  /^(?:\$\$(?!\$)([^$]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|\$(?![\s$])((?:\\[\s\S]|[^\\$\n])*?(?:\\[\s\S]|[^\\$\s]))\$(?![\p{L}\p{N}_$]))/u;
const NOTES = /^ {0,3}\[\^[^\]\s]{1,40}\]:[^\n]*(?:\n(?![ \t]*(?:\n|$))[^\n]*)*(?:\n+|$)/;
const NOTE = /^ {0,3}\[\^([^\]\s]{1,40})\]:[ \t]*/;
const NOTE_MARK = /^\[\^([^\]\s]{1,40})\]/;
const FORMULAS = /\$\$[^$]+\$\$|\\\[[\s\S]+?\\\]|\\\([\s\S]+?\\\)|\$(?!\s)[^$\n]+\$/g;

interface TokenizerThis {
  lexer: Lexer;
}

/** A display formula. */
function displayMath(this: TokenizerThis, text: string): MathToken | undefined {
  const found = DISPLAY.exec(text);
  const tex = found?.[1] ?? found?.[2];
  if (!found || !tex || BLANK.test(tex)) return;
  return { type: "math", raw: found[0], tex: tex.trim(), display: true };
}

/** A formula within a line: between dollars only where they are neither prices nor names. */
function inlineMath(this: TokenizerThis, text: string, before: Token[]): MathToken | undefined {
  if (text[0] !== "$" && text[0] !== "\\") return;
  const found = INLINE.exec(text);
  if (!found) return;
  const [raw, dollars, brackets, parentheses, dollar] = found;
  const tex = dollars ?? brackets ?? parentheses ?? dollar ?? "";
  if (!tex.trim() || (dollar && !isFormula(dollar, before.at(-1)?.raw ?? ""))) return;
  return { type: "math", raw, tex: tex.trim(), display: dollars !== undefined || brackets !== undefined };
}

/** Whether the text between two single dollars is a formula: not names, references, or words between two prices. */
function isFormula(tex: string, before: string): boolean {
  if (/[\p{L}\p{N}$\\]$/u.test(before) || /^VAR_REF|\{\{|`/.test(tex)) return false;
  return !/(?:^|\s)\p{L}{2,}(?:[\s,.;:!?)]|$)/u.test(tex.replace(/\\\p{L}+/gu, "")) || /[\\^_={}]/.test(tex);
}

/** A paragraph that begins with `[^label]:`, and each such line in it. */
function footnotes(this: TokenizerThis, text: string): FootnotesToken | undefined {
  const raw = NOTES.exec(text)?.[0];
  if (!raw) return;
  const written = raw.trimEnd().split(/\n(?= {0,3}\[\^[^\]\s]{1,40}\]:)/);
  const footnoteList = written.map((one) => {
    const label = NOTE.exec(one);
    return { label: label?.[1] ?? "", tokens: this.lexer.inlineTokens(one.slice(label?.[0].length ?? 0)) };
  });
  return { type: "notes", raw, notes: footnoteList };
}

function footnoteRef(this: TokenizerThis, text: string): FootnoteRef | undefined {
  const found = text[0] === "[" ? NOTE_MARK.exec(text) : null;
  return found ? { type: "notemark", raw: found[0], label: found[1] ?? "" } : undefined;
}

/** Return the position in a paragraph where a display formula starts. */
function findFormula(text: string): number {
  const blank = text.indexOf("\n\n");
  const found = /\n {0,3}(?:\$\$(?!\$)|\\\[)/.exec(blank < 0 ? text : text.slice(0, blank));
  return found && displayMath.call({} as TokenizerThis, text.slice(found.index + 1)) ? found.index + 1 : -1;
}

/** Return the start of an unfinished display formula; the end of the text if there is none. */
export function openFormula(text: string): number {
  const tail = text.slice(Math.max(0, text.lastIndexOf("\n\n")));
  const opening = /(?<=^|\n) {0,3}(\$\$(?!\$)|\\\[)/g;
  for (let found = opening.exec(tail); found; found = opening.exec(tail)) {
    const whole = DISPLAY.exec(tail.slice(found.index));
    if (whole?.[0].endsWith("\n")) opening.lastIndex = found.index + whole[0].length;
    else if (
      /^(?:\$\$[^$]*\$?|\\\[(?:(?!\\\])[\s\S])*)$/.test(found[0].trim() + tail.slice(opening.lastIndex)) ||
      whole
    ) {
      return text.length - tail.length + found.index;
    }
  }
  return text.length;
}

const maskFormula = (found: string): string => `[${"a".repeat(found.length - 2)}]`;

const OPTIONS = {
  gfm: true,
  extensions: {
    block: [displayMath, footnotes],
    inline: [inlineMath, footnoteRef],
    startBlock: [findFormula],
    startInline: [(text: string): number => text.indexOf("$")],
  },
  hooks: { emStrongMask: (text: string): string => text.replace(FORMULAS, maskFormula) },
};

/** Parse Markdown into tokens; extreme input becomes code, unformatted. */
export function lex(text: string): Token[] {
  try {
    return new BoundedLexer({ ...OPTIONS, tokenizer: new PlainTokenizer() } as object).lex(text);
  } catch {
    return [{ type: "code", raw: text, text }]; // nesting that no person writes
  }
}
