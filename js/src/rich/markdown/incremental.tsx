/** Renders a reply that grows: only what is new is parsed. */
import type { Token, Tokens } from "marked";
import { type ComponentChildren, Fragment, type VNode } from "preact";
import { AppendOnlyText } from "../../views/text/AppendOnlyText";
import {
  AS_SOURCE,
  BLOCK_LIMIT,
  listChunks,
  renderBlock,
  renderItems,
  renderList,
  renderRows,
  renderTable,
  tableChunks,
} from "./blocks";
import { CHUNK_SIZE, ChunkList } from "./chunks";
import { closeOpenMarks } from "./closeOpen";
import { Code } from "./code";
import { OpenFence, openFenceAt } from "./fence";
import { CELLS_LIMIT, lex, openFormula } from "./lexer";
import { PlainBlock } from "./plainBlock";
import { stablePrefixLength, totalLength } from "./stablePrefix";

/** A list or a table so long that its first items are final while it grows; `head` is its start. */
interface LongBlock {
  head: string;
  first: Tokens.List | Tokens.Table;
  chunks: ChunkList;
}

/**
 * Reads a reply that grows, and is given only what is new. What no later text can change is rendered once and kept; only
 * the open tail is read again, an open code fence is not read at all, and of a long list or table only the end.
 */
export class IncrementalMarkdown {
  #limit: number;
  #tail = "";
  #chunks = new ChunkList();
  #recent: VNode[] = [];
  #count = 0;
  #activeRun: OpenFence | PlainBlock | null = null;
  #longBlock: LongBlock | null = null;
  /** Cells of tables that are settled. */
  #cells = 0;

  constructor(limit = BLOCK_LIMIT) {
    this.#limit = limit;
  }

  /** Return the whole rendered text after this chunk; `open` is whether more will follow. */
  read(addition: string, open: boolean): VNode[] {
    this.#tail += addition;
    for (;;) {
      const rest = this.#advance(open);
      if (rest) return this.#chunks.render([...this.#recent, ...rest]);
    }
  }

  /** Store a block that consists of so many characters of the tail. */
  #commit(node: ComponentChildren, size: number): void {
    this.#recent.push(withKey(this.#count++, node));
    if (this.#recent.length === CHUNK_SIZE) this.#chunks.append(this.#recent.splice(0));
    this.#tail = this.#tail.slice(size);
    this.#longBlock = null;
  }

  /** Read on in the one way that fits; null where something was settled, and the tail must be read once more. */
  #advance(open: boolean): VNode[] | null {
    if (!this.#activeRun && !this.#longBlock) this.#openFence(openFenceAt(this.#tail));
    return this.#activeRun ? this.#continueRun(this.#activeRun, open) : this.#renderTail(open);
  }

  #openFence(found: { fence: OpenFence; rest: string } | null): void {
    if (!found) return;
    this.#activeRun = found.fence;
    this.#tail = found.rest;
  }

  /** Show the block at the start of the tail unparsed, up to its end. */
  #continueRun(run: OpenFence | PlainBlock, open: boolean): VNode[] | null {
    const rest = run.read(this.#tail, open);
    this.#tail = rest ?? "";
    if (rest === null) return [withKey(this.#count, renderRun(run, open))];
    this.#activeRun = null;
    this.#commit(renderRun(run, false), 0);
    return null;
  }

  /** Parse the tail: store its final blocks, or return it as shown. */
  #renderTail(open: boolean): VNode[] | null {
    const from = open ? openFormula(this.#tail) : this.#tail.length;
    const source = (this.#longBlock?.head ?? "") + this.#tail.slice(0, from);
    const tokens = lex(source);
    if (this.#longBlock && !continues(this.#longBlock, tokens[0])) {
      this.#commit(this.#renderFirst(null), 0);
      return null;
    }
    const stableCount = stablePrefixLength(tokens, source);
    for (const [i, token] of tokens.slice(0, Math.max(stableCount, 1)).entries()) {
      if ((i > 0 && isFence(token)) || this.#fallBackToPlain(token)) return null;
      if (stableCount > 0) this.#commit(this.#renderFirst(token), this.#consumedLength(token));
    }
    if (stableCount > 0 || this.#commitItems(tokens[0])) return null;
    const hasOpenFormula = from < this.#tail.length;
    const rest = this.#renderOpen(tokens, open && !hasOpenFormula ? source : null);
    if (hasOpenFormula) rest.push(<Code key="open" text={this.#tail.slice(from)} language="" open={true} />);
    return rest;
  }

  /** Return the tail as it is shown now; if more will follow, its last block is closed. */
  #renderOpen(tokens: Token[], source: string | null): VNode[] {
    const last = source?.slice(totalLength(tokens.slice(0, -1))) ?? "";
    const closed = closeOpenMarks(last);
    const visible = closed === last ? tokens : [...tokens.slice(0, -1), ...lex(closed)];
    return visible.map((token, i) =>
      withKey(this.#count + i, i === 0 ? this.#renderFirst(token) : renderBlock(token)),
    );
  }

  /** Return the length of the text of the first token, without the repeated head of a long table. */
  #consumedLength(token: Token): number {
    return token.raw.length - (this.#longBlock?.head.length ?? 0);
  }

  /** The first block of the tail; of a long one with all that is settled. */
  #renderFirst(token: Token | null): ComponentChildren {
    if (!this.#longBlock) return token && renderBlock(token);
    const { first, chunks } = this.#longBlock;
    if (first.type === "list") {
      const items = (token as Tokens.List | null)?.items ?? [];
      return renderList({ ...first, items } as Tokens.List, chunks);
    }
    return renderTable(
      { ...first, rows: (token as Tokens.Table | null)?.rows ?? [] } as Tokens.Table,
      chunks,
    );
  }

  /** Switch to plain text if a block or an item is too long; return whether it did. */
  #fallBackToPlain(token: Token): boolean {
    if (token.type === "plain" || (token.type === "table" && this.#cells > CELLS_LIMIT)) {
      if (this.#longBlock) this.#commit(this.#renderFirst(null), 0);
      this.#activeRun = new PlainBlock(0);
      return true;
    }
    if (token.type === "list") {
      const { items } = token as Tokens.List;
      const long = items.findIndex((item) => item.raw.length > this.#limit);
      if (long < 0) return false;
      const before = items.slice(0, long);
      if (long > 0 || this.#longBlock)
        this.#commit(this.#renderFirst({ ...token, items: before } as Token), totalLength(before));
    } else if (isBounded(token) || token.raw.length <= this.#limit) return false;
    this.#activeRun = new PlainBlock(this.#limit);
    return true;
  }

  /** Store the full groups of a growing list or table; return whether there were any. */
  #commitItems(token: Token | undefined): boolean {
    if (token?.type !== "list" && token?.type !== "table") return false;
    const block = token as Tokens.List | Tokens.Table;
    const count = block.type === "list" ? block.items.length : block.rows.length;
    const full = Math.floor((count - 1) / CHUNK_SIZE) * CHUNK_SIZE;
    if (full <= 0) return false;
    if (block.type === "list") this.#commitListItems(block, full);
    else this.#commitTableRows(block, full);
    return true;
  }

  #commitListItems(block: Tokens.List, full: number): void {
    const stable = block.items.slice(0, full);
    this.#longBlock ??= { head: "", first: block, chunks: listChunks(block) };
    this.#longBlock.chunks.append(renderItems(stable));
    this.#tail = this.#tail.slice(totalLength(stable));
  }

  #commitTableRows(block: Tokens.Table, full: number): void {
    this.#longBlock ??= { head: "", first: block, chunks: tableChunks(block) };
    this.#longBlock.chunks.append(renderRows(block.rows.slice(0, full)));
    this.#cells += full * block.header.length;
    this.#tail = this.#tail.slice(afterLines(block.raw, full + 2) - this.#longBlock.head.length);
    this.#longBlock.head = block.raw.slice(0, afterLines(block.raw, 2));
  }
}

function renderRun(run: OpenFence | PlainBlock, open: boolean): ComponentChildren {
  if (run instanceof OpenFence) return <Code text={run.code} language={run.language} open={open} />;
  return (
    <div class="nb-prewrap nb-bidi">
      <AppendOnlyText text={run.text} />
      <div class="nb-muted nb-small">{AS_SOURCE}</div>
    </div>
  );
}

function withKey(key: number, node: ComponentChildren): VNode {
  return <Fragment key={key}>{node}</Fragment>;
}

/** Whether a token is one whose length does no harm: it is read in parts, or not at all. */
function isBounded({ type, raw }: Pick<Token, "type" | "raw">): boolean {
  return type === "space" || type === "table" || isFence({ type, raw });
}

function isFence({ type, raw }: Pick<Token, "type" | "raw">): boolean {
  return type === "code" && /^(`{3}|~{3})/.test(raw);
}

/** Whether a long list or table continues with this token. */
function continues({ first }: LongBlock, token: Token | undefined): boolean {
  if (token?.type !== first.type) return false;
  if (token.type === "table") return (token as Tokens.Table).rows.length > 0;
  return bulletOf(token.raw) === bulletOf(first.raw);
}

function bulletOf(raw: string): string {
  return /^ {0,3}(?:\d*)([-+*.)])/.exec(raw)?.[1] ?? "";
}

/** Return the position after so many lines of a text. */
function afterLines(text: string, count: number): number {
  let at = 0;
  for (let i = 0; i < count; i++) at = text.indexOf("\n", at) + 1;
  return at;
}
