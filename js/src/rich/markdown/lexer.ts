import { Lexer, type Token, Tokenizer } from "marked";

/** marked's lexer without what a model must not have: raw HTML, and definitions that reach back into settled text. */
class PlainTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
  override def(): undefined {}
}

/** A formula; `raw` is all that was written, marks and all. */
export interface MathToken {
  type: "math";
  raw: string;
  tex: string;
  display: boolean;
}

/** Where a note is referred to. */
export interface NoteMark {
  type: "notemark";
  raw: string;
  label: string;
}

/** Notes in a row, each under its label. */
export interface NotesToken {
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

interface Self {
  lexer: Lexer;
}

/** A formula on lines of its own. */
function displayMath(this: Self, text: string): MathToken | undefined {
  const found = DISPLAY.exec(text);
  const tex = found?.[1] ?? found?.[2];
  if (!found || !tex || BLANK.test(tex)) return;
  return { type: "math", raw: found[0], tex: tex.trim(), display: true };
}

/** A formula within a line: between dollars only where they are neither prices nor names. */
function inlineMath(this: Self, text: string, before: Token[]): MathToken | undefined {
  if (text[0] !== "$" && text[0] !== "\\") return;
  const found = INLINE.exec(text);
  if (!found) return;
  const [raw, dollars, brackets, parentheses, dollar] = found;
  const tex = dollars ?? brackets ?? parentheses ?? dollar ?? "";
  if (!tex.trim() || (dollar && !isFormula(dollar, before.at(-1)?.raw ?? ""))) return;
  return { type: "math", raw, tex: tex.trim(), display: dollars !== undefined || brackets !== undefined };
}

/** Whether what stands between two single dollars is a formula: not names, references, or words between two prices. */
function isFormula(tex: string, before: string): boolean {
  if (/[\p{L}\p{N}$\\]$/u.test(before) || /^VAR_REF|\{\{|`/.test(tex)) return false;
  return !/(?:^|\s)\p{L}{2,}(?:[\s,.;:!?)]|$)/u.test(tex.replace(/\\\p{L}+/gu, "")) || /[\\^_={}]/.test(tex);
}

/** A paragraph that begins with `[^label]:`, and each such line in it. */
function notes(this: Self, text: string): NotesToken | undefined {
  const raw = NOTES.exec(text)?.[0];
  if (!raw) return;
  const written = raw.trimEnd().split(/\n(?= {0,3}\[\^[^\]\s]{1,40}\]:)/);
  const each = written.map((one) => {
    const label = NOTE.exec(one);
    return { label: label?.[1] ?? "", tokens: this.lexer.inlineTokens(one.slice(label?.[0].length ?? 0)) };
  });
  return { type: "notes", raw, notes: each };
}

function noteMark(this: Self, text: string): NoteMark | undefined {
  const found = text[0] === "[" ? NOTE_MARK.exec(text) : null;
  return found ? { type: "notemark", raw: found[0], label: found[1] ?? "" } : undefined;
}

/** Where a paragraph gives way to a formula on a line of its own. */
function nextFormula(text: string): number {
  const blank = text.indexOf("\n\n");
  const found = /\n {0,3}(?:\$\$(?!\$)|\\\[)/.exec(blank < 0 ? text : text.slice(0, blank));
  return found && displayMath.call({} as Self, text.slice(found.index + 1)) ? found.index + 1 : -1;
}

/** Where a formula on lines of its own begins that is still being written; the end of the text where there is none. */
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

const hidden = (found: string): string => `[${"a".repeat(found.length - 2)}]`;

const OPTIONS = {
  gfm: true,
  extensions: {
    block: [displayMath, notes],
    inline: [inlineMath, noteMark],
    startBlock: [nextFormula],
    startInline: [(text: string): number => text.indexOf("$")],
  },
  hooks: { emStrongMask: (text: string): string => text.replace(FORMULAS, hidden) },
};

/** Read Markdown into tokens; what nobody writes becomes code as it stands. */
export function lex(text: string): Token[] {
  try {
    return new Lexer({ ...OPTIONS, tokenizer: new PlainTokenizer() } as object).lex(text);
  } catch {
    return [{ type: "code", raw: text, text }]; // nesting that no person writes
  }
}
