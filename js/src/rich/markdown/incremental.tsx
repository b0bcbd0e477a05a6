import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment, type VNode } from "preact";
import { Grown } from "../../views/AppendOnlyText";
import {
  AS_WRITTEN,
  BLOCK_LIMIT,
  block,
  list,
  listItems,
  listPile,
  table,
  tablePile,
  tableRows,
} from "./blocks";
import { GROUP, Pile } from "./chunks";
import { mended } from "./closeOpen";
import { Code } from "./code";
import { Fence, fenceAt } from "./fence";
import { CELLS_LIMIT, lex, openFormula } from "./lexer";
import { Rough } from "./plainBlock";
import { length, settledCount } from "./stablePrefix";

/** A list or a table so long that its first items are settled while it grows; `head` stands for what it began with. */
interface Long {
  head: string;
  first: Tokens.List | Tokens.Table;
  pile: Pile;
}

/**
 * Reads a reply that grows, and is given only what is new. What no later text can change is rendered once and kept; only
 * the open tail is read again, an open code fence is not read at all, and of a long list or table only the end.
 */
export class GrowingMarkdown {
  #limit: number;
  #tail = "";
  #full = new Pile();
  #recent: VNode[] = [];
  #count = 0;
  #run: Fence | Rough | null = null;
  #long: Long | null = null;
  /** Cells of tables that are settled. */
  #cells = 0;

  constructor(limit = BLOCK_LIMIT) {
    this.#limit = limit;
  }

  /** All of the text as it is shown, with this piece at its end; `open` says that more will come. */
  read(news: string, open: boolean): VNode[] {
    this.#tail += news;
    for (;;) {
      const rest = this.#step(open);
      if (rest) return this.#full.view([...this.#recent, ...rest]);
    }
  }

  /** Keep a block that takes so many characters of the tail. */
  #settle(node: ComponentChildren, size: number): void {
    this.#recent.push(keyed(this.#count++, node));
    if (this.#recent.length === GROUP) this.#full.add(this.#recent.splice(0));
    this.#tail = this.#tail.slice(size);
    this.#long = null;
  }

  /** Read on in the one way that fits; null where something was settled, and the tail must be read once more. */
  #step(open: boolean): VNode[] | null {
    if (!this.#run && !this.#long) this.#begin(fenceAt(this.#tail));
    return this.#run ? this.#go(this.#run, open) : this.#blocks(open);
  }

  #begin(found: { fence: Fence; rest: string } | null): void {
    if (!found) return;
    this.#run = found.fence;
    this.#tail = found.rest;
  }

  /** What the tail begins with is not read but taken as it is, up to its end. */
  #go(run: Fence | Rough, open: boolean): VNode[] | null {
    const rest = run.read(this.#tail, open);
    this.#tail = rest ?? "";
    if (rest === null) return [keyed(this.#count, asItIs(run, open))];
    this.#run = null;
    this.#settle(asItIs(run, false), 0);
    return null;
  }

  /** Read the tail: settle what is settled, or give it as it is shown. */
  #blocks(open: boolean): VNode[] | null {
    const from = open ? openFormula(this.#tail) : this.#tail.length;
    const source = (this.#long?.head ?? "") + this.#tail.slice(0, from);
    const tokens = lex(source);
    if (this.#long && !goesOn(this.#long, tokens[0])) {
      this.#settle(this.#view(null), 0);
      return null;
    }
    const keep = settledCount(tokens, source);
    for (const [i, token] of tokens.slice(0, Math.max(keep, 1)).entries()) {
      if ((i > 0 && isFence(token)) || this.#cut(token)) return null;
      if (keep > 0) this.#settle(this.#view(token), this.#length(token));
    }
    if (keep > 0 || this.#shorten(tokens[0])) return null;
    const isBegun = from < this.#tail.length;
    const rest = this.#shown(tokens, open && !isBegun ? source : null);
    if (isBegun) rest.push(<Code key="open" text={this.#tail.slice(from)} language="" open={true} />);
    return rest;
  }

  /** The tail as it is shown now: where more will come to this source, its last block is closed. */
  #shown(tokens: Token[], source: string | null): VNode[] {
    const last = source?.slice(length(tokens.slice(0, -1))) ?? "";
    const whole = mended(last);
    const shown = whole === last ? tokens : [...tokens.slice(0, -1), ...lex(whole)];
    return shown.map((token, i) => keyed(this.#count + i, i === 0 ? this.#view(token) : block(token)));
  }

  /** How much of the text a first token takes: the head of a long table is not there twice. */
  #length(token: Token): number {
    return token.raw.length - (this.#long?.head.length ?? 0);
  }

  /** The first block of the tail; of a long one with all that is settled. */
  #view(token: Token | null): ComponentChildren {
    if (!this.#long) return token && block(token);
    const { first, pile } = this.#long;
    if (first.type === "list") {
      const items = (token as Tokens.List | null)?.items ?? [];
      return list({ ...first, items } as Tokens.List, pile);
    }
    return table({ ...first, rows: (token as Tokens.Table | null)?.rows ?? [] } as Tokens.Table, pile);
  }

  /** Turn to plain text where a block, or an item, is too long; says whether it did. */
  #cut(token: Token): boolean {
    if (token.type === "plain" || (token.type === "table" && this.#cells > CELLS_LIMIT)) {
      if (this.#long) this.#settle(this.#view(null), 0);
      this.#run = new Rough(0);
      return true;
    }
    if (token.type === "list") {
      const { items } = token as Tokens.List;
      const long = items.findIndex((item) => item.raw.length > this.#limit);
      if (long < 0) return false;
      const before = items.slice(0, long);
      if (long > 0 || this.#long)
        this.#settle(this.#view({ ...token, items: before } as Token), length(before));
    } else if (isBounded(token) || token.raw.length <= this.#limit) return false;
    this.#run = new Rough(this.#limit);
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
    this.#long ??= { head: "", first: known, pile: listPile(known) };
    this.#long.pile.add(listItems(settled));
    this.#tail = this.#tail.slice(length(settled));
  }

  #shortenTable(known: Tokens.Table, full: number): void {
    this.#long ??= { head: "", first: known, pile: tablePile(known) };
    this.#long.pile.add(tableRows(known.rows.slice(0, full)));
    this.#cells += full * known.header.length;
    this.#tail = this.#tail.slice(afterLines(known.raw, full + 2) - this.#long.head.length);
    this.#long.head = known.raw.slice(0, afterLines(known.raw, 2));
  }
}

function asItIs(run: Fence | Rough, open: boolean): ComponentChildren {
  if (run instanceof Fence) return <Code text={run.code} language={run.language} open={open} />;
  return (
    <div class="nb-prewrap" dir="auto">
      <Grown text={run.text} />
      <div class="nb-quiet nb-small">{AS_WRITTEN}</div>
    </div>
  );
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
