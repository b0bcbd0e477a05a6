import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment, type VNode } from "preact";
import { BLOCK_LIMIT, block, list, listItems, listPile, plain, table, tablePile, tableRows } from "./blocks";
import { Code } from "./code";
import { type Fence, fenceAt, readFence } from "./fence";
import { lex, openFormula } from "./lexer";
import { mended } from "./mend";
import { GROUP, Pile } from "./pile";
import { length, settledCount } from "./settled";

/** Characters at the end of a text that tell whether it only grew. */
const TELLING = 1_000;

/** A list or a table so long that its first items are settled while it grows; `head` stands for what it began with. */
interface Long {
  key: number;
  head: string;
  first: Tokens.List | Tokens.Table;
  pile: Pile;
}

/**
 * Reads a reply that grows. What no later text can change is rendered once and kept; only the open tail is read
 * again, an open code fence is not read at all, and of a long list or table only the end.
 */
export class GrowingMarkdown {
  #limit: number;
  #seen = "";
  #start = 0;
  #full = new Pile();
  #recent: VNode[] = [];
  #fence: Fence | null = null;
  #long: Long | null = null;
  #plainUntil = -1;

  constructor(limit = BLOCK_LIMIT) {
    this.#limit = limit;
  }

  /** All of the text as it is shown; `open` says that more will come. */
  read(text: string, open: boolean): VNode[] {
    if (!goesOnFrom(this.#seen, text, open)) this.#forget();
    this.#seen = text;
    for (;;) {
      const rest = this.#step(text, open);
      if (rest) return this.#full.view([...this.#recent, ...rest]);
    }
  }

  #forget(): void {
    this.#start = 0;
    this.#full = new Pile();
    this.#recent = [];
    this.#fence = this.#long = null;
    this.#plainUntil = -1;
  }

  #settle(node: VNode, end: number): void {
    this.#recent.push(node);
    if (this.#recent.length === GROUP) this.#full.add(this.#recent.splice(0));
    this.#start = end;
    this.#long = null;
  }

  /** Read on in the one way that fits; null where something was settled, and the tail must be read once more. */
  #step(text: string, open: boolean): VNode[] | null {
    if (this.#plainUntil >= 0) return this.#plain(text);
    if (!this.#long) this.#fence ??= fenceAt(text, this.#start);
    return this.#fence ? this.#openFence(this.#fence, text, open) : this.#blocks(text, open);
  }

  /** The open fence that the tail begins with. */
  #openFence(fence: Fence, text: string, open: boolean): VNode[] | null {
    const { code, end } = readFence(fence, text, open);
    const isOpen = open && end < 0;
    const node = keyed(this.#start, <Code text={code} language={fence.language} open={isOpen} />);
    if (end < 0) return [node];
    this.#fence = null;
    this.#settle(node, end);
    return null;
  }

  /** The block that is too long to be read, up to the first blank line after its limit. */
  #plain(text: string): VNode[] | null {
    const blank = /\n[ \t]*\n/g;
    blank.lastIndex = this.#plainUntil;
    const found = blank.exec(text);
    const node = keyed(this.#start, plain(text.slice(this.#start, found?.index)));
    this.#plainUntil = found ? -1 : Math.max(this.#plainUntil, text.lastIndexOf("\n"));
    if (!found) return [node];
    this.#settle(node, found.index + found[0].length);
    return null;
  }

  /** Read the tail: settle what is settled, or give it as it is shown. */
  #blocks(text: string, open: boolean): VNode[] | null {
    const from = open ? openFormula(text, this.#start) : text.length;
    const source = (this.#long?.head ?? "") + text.slice(this.#start, from);
    const tokens = lex(source);
    if (this.#long && !goesOn(this.#long, tokens[0])) {
      this.#settle(this.#view(null), this.#start);
      return null;
    }
    const keep = settledCount(tokens, source);
    for (const [i, token] of tokens.slice(0, Math.max(keep, 1)).entries()) {
      if ((i > 0 && isFence(token)) || this.#cut(token)) return null;
      if (keep > 0) this.#settle(this.#view(token), this.#start + this.#length(token));
    }
    if (keep > 0 || this.#shorten(tokens[0])) return null;
    const rest = this.#tail(tokens, open && from === text.length ? source : null);
    if (from < text.length) rest.push(keyed(from, <Code text={text.slice(from)} language="" open={true} />));
    return rest;
  }

  /** The tail as it is shown now: where more will come to this source, its last block is closed. */
  #tail(tokens: Token[], source: string | null): VNode[] {
    const last = source?.slice(length(tokens.slice(0, -1))) ?? "";
    const whole = mended(last);
    const shown = whole === last ? tokens : [...tokens.slice(0, -1), ...lex(whole)];
    let at = this.#start;
    return shown.map((token, i) => {
      const node = i === 0 ? this.#view(token) : keyed(at, block(token));
      at += i === 0 ? this.#length(token) : token.raw.length;
      return node;
    });
  }

  /** How much of the text a first token takes: the head of a long table is not there twice. */
  #length(token: Token): number {
    return token.raw.length - (this.#long?.head.length ?? 0);
  }

  /** The first block of the tail; of a long one with all that is settled. */
  #view(token: Token | null): VNode {
    if (!this.#long) return keyed(this.#start, token && block(token));
    const { key, first, pile } = this.#long;
    if (first.type === "list") {
      return keyed(
        key,
        list({ ...first, items: (token as Tokens.List | null)?.items ?? [] } as Tokens.List, pile),
      );
    }
    return keyed(
      key,
      table({ ...first, rows: (token as Tokens.Table | null)?.rows ?? [] } as Tokens.Table, pile),
    );
  }

  /** Turn to plain text where a block, or an item, is too long; says whether it did. */
  #cut(token: Token): boolean {
    let end = this.#start;
    if (token.type === "list") {
      const { items } = token as Tokens.List;
      const long = items.findIndex((item) => item.raw.length > this.#limit);
      if (long < 0) return false;
      const before = items.slice(0, long);
      for (const { raw } of before) end += raw.length;
      if (long > 0 || this.#long) this.#settle(this.#view({ ...token, items: before } as Token), end);
    } else if (isBounded(token) || token.raw.length <= this.#limit) return false;
    this.#start = end;
    this.#plainUntil = end + this.#limit;
    return true;
  }

  /** Settle the full groups of a list or a table that goes on growing; says whether there were any. */
  #shorten(token: Token | undefined): boolean {
    if (token?.type !== "list" && token?.type !== "table") return false;
    const known = token as Tokens.List | Tokens.Table;
    const count = known.type === "list" ? known.items.length : known.rows.length;
    const full = Math.floor((count - 1) / GROUP) * GROUP;
    if (full <= 0) return false;
    if (known.type === "list") this.#shortenList(known, full);
    else this.#shortenTable(known, full);
    return true;
  }

  #shortenList(known: Tokens.List, full: number): void {
    const settled = known.items.slice(0, full);
    this.#long ??= { key: this.#start, head: "", first: known, pile: listPile(known) };
    this.#long.pile.add(listItems(settled));
    for (const { raw } of settled) this.#start += raw.length;
  }

  #shortenTable(known: Tokens.Table, full: number): void {
    this.#long ??= { key: this.#start, head: "", first: known, pile: tablePile(known) };
    this.#long.pile.add(tableRows(known.rows.slice(0, full)));
    this.#start += afterLines(known.raw, full + 2) - this.#long.head.length;
    this.#long.head = known.raw.slice(0, afterLines(known.raw, 2));
  }
}

/** Whether a text is another one that has grown: while it grows, its end tells; all of it is looked at when it is whole. */
function goesOnFrom(seen: string, text: string, open: boolean): boolean {
  const from = open ? Math.max(0, seen.length - TELLING) : 0;
  // engines compare equal lengths by memory; startsWith goes character by character
  return text.slice(from, seen.length) === seen.slice(from);
}

function keyed(key: number, node: ComponentChildren): VNode {
  return <Fragment key={key}>{node}</Fragment>;
}

/** Whether a token is one whose length does no harm: it is read in parts, or not at all. */
function isBounded({ type, raw }: Pick<Token, "type" | "raw">): boolean {
  return type === "space" || type === "table" || isFence({ type, raw });
}

function isFence({ type, raw }: Pick<Token, "type" | "raw">): boolean {
  return type === "code" && /^(`{3}|~{3})/.test(raw);
}

/** Whether a long list or table goes on with this token. */
function goesOn({ first }: Long, token: Token | undefined): boolean {
  if (token?.type !== first.type) return false;
  if (token.type === "table") return (token as Tokens.Table).rows.length > 0;
  return bullet(token.raw) === bullet(first.raw);
}

function bullet(raw: string): string {
  return /^ {0,3}(?:\d*)([-+*.)])/.exec(raw)?.[1] ?? "";
}

/** Where a text goes on after so many lines. */
function afterLines(text: string, count: number): number {
  let at = 0;
  for (let i = 0; i < count; i++) at = text.indexOf("\n", at) + 1;
  return at;
}
