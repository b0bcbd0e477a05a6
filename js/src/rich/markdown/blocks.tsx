/** Renders the blocks of Markdown: paragraphs, lists, tables, quotes. */
import type { Token, Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { LongText } from "../../views/text/AppendOnlyText";
import { CHUNK_SIZE, ChunkList } from "./chunks";
import { Code } from "./code";
import { Formula } from "./formula";
import type { FootnoteRef, FootnotesToken, MathToken } from "./lexer";
import { link } from "./links";

/** Characters of a block, item or cell above which it is shown unformatted. */
export const BLOCK_LIMIT = 10_000;

/** The note below a text that is shown unformatted. */
export const AS_SOURCE = "[shown as plain text: too much markup]";

/** One block as it is shown. */
export function renderBlock(token: Token): ComponentChildren {
  const generic = token as Tokens.Generic;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "code":
      return <Code text={generic.text} language={language(generic.lang)} open={false} />;
    case "math":
      return renderMath(generic as MathToken);
    case "notes":
      return (generic as FootnotesToken).notes.map(({ label, tokens }) => (
        <p class="nb-note" dir="auto">
          <sup>{label}</sup> {renderSpans(tokens)}
        </p>
      ));
    case "heading": {
      const Heading = `h${Math.min(generic.depth + 2, 6)}` as "h3";
      return <Heading dir="auto">{renderInline(token)}</Heading>;
    }
    case "blockquote":
      return <blockquote dir="auto">{renderBlocks(generic.tokens)}</blockquote>;
    case "list":
      return renderList(token as Tokens.List);
    case "table":
      return renderTable(token as Tokens.Table);
    case "text":
      return renderInline(token);
    case "plain":
      return <div>{renderPlain(token.raw)}</div>;
    default:
      return <p dir="auto">{renderInline(token)}</p>;
  }
}

/** The language a code fence names. */
export function language(info: string | undefined): string {
  return /^[\w+#.-]{1,20}/.exec(info ?? "")?.[0].toLowerCase() ?? "";
}

function renderBlocks(tokens: Token[] | undefined): ComponentChildren[] {
  return (tokens ?? []).map(renderBlock);
}

/** A list; `pile` holds its items that are settled. A long one is several to the browser's layout. */
export function renderList(token: Tokens.List, chunks?: ChunkList): ComponentChildren {
  const items = renderItems(token.items);
  if (chunks || items.length > CHUNK_SIZE) return (chunks ?? listChunks(token)).render(items);
  return <Items list={token} index={0} isFull={false} items={items} />;
}

/** A pile for the items of a long list. */
export function listChunks(list: Tokens.List): ChunkList {
  return new ChunkList((items, index, isFull) => (
    <Items key={index} list={list} index={index} isFull={isFull} items={items} />
  ));
}

interface ItemsProps {
  list: Tokens.List;
  index: number;
  isFull: boolean;
  items: ComponentChildren[];
}

function Items({ list, index, isFull, items }: ItemsProps): JSX.Element {
  const kind = isFull ? "nb-chunk nb-offscreen" : index > 0 ? "nb-chunk" : undefined;
  const dir = isRightToLeft(list.items[0]?.text ?? "") ? "rtl" : undefined;
  if (!list.ordered) {
    return (
      <ul class={kind} dir={dir}>
        {items}
      </ul>
    );
  }
  return (
    <ol class={kind} dir={dir} start={(Number(list.start) || 0) + index * CHUNK_SIZE}>
      {items}
    </ol>
  );
}

/** Whether the first letter of a text is of a script that is written from the right. */
function isRightToLeft(text: string): boolean {
  const [first = ""] = /\p{L}/u.exec(text) ?? [];
  return /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first);
}

/** The items of a list, each on its own: whether another one is loose changes nothing. */
export function renderItems(items: Tokens.ListItem[]): JSX.Element[] {
  return items.map((item) => <li class={item.task ? "nb-task" : undefined}>{renderItem(item)}</li>);
}

function renderItem({ tokens, checked }: Tokens.ListItem): ComponentChildren {
  const isProse = ({ type }: Token): boolean => type === "text" || type === "paragraph";
  const many = tokens.filter(isProse).length > 1;
  return tokens.map((token) => {
    if (token.type === "checkbox") return checked ? "☑ " : "☐ ";
    if (!isProse(token)) return renderBlock(token);
    return many ? <p dir="auto">{renderInline(token)}</p> : renderInline(token);
  });
}

/** A table; `pile` holds its rows that are settled. A long one is several, of columns alike. */
export function renderTable(token: Tokens.Table, chunks?: ChunkList): JSX.Element {
  const rows = renderRows(token.rows);
  const isLong = chunks !== undefined || rows.length > CHUNK_SIZE;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-table" tabIndex={0} aria-label="Table">
      {isLong ? (chunks ?? tableChunks(token)).render(rows) : <Rows header={token.header} rows={rows} />}
    </section>
  );
}

/** A pile for the rows of a long table. */
export function tableChunks({ header }: Tokens.Table): ChunkList {
  return new ChunkList((rows, index, isFull) => (
    <Rows
      key={index}
      header={index === 0 ? header : null}
      rows={rows}
      kind={isFull ? "nb-fixed-columns nb-offscreen" : "nb-fixed-columns"}
    />
  ));
}

interface RowsProps {
  header: Tokens.TableCell[] | null;
  rows: ComponentChildren[];
  kind?: string;
}

function Rows({ header, rows, kind }: RowsProps): JSX.Element {
  return (
    <table class={kind}>
      {header && (
        <thead>
          <tr>{renderCells(header, "th")}</tr>
        </thead>
      )}
      <tbody>{rows}</tbody>
    </table>
  );
}

/** The rows of a table. */
export function renderRows(rows: Tokens.TableCell[][]): JSX.Element[] {
  return rows.map((row) => <tr>{renderCells(row, "td")}</tr>);
}

function renderCells(row: Tokens.TableCell[], Cell: "td" | "th"): JSX.Element[] {
  return row.map((cell) => (
    <Cell dir="auto" style={cell.align ? { textAlign: cell.align } : {}}>
      {renderSpans(cell.tokens)}
    </Cell>
  ));
}

function renderMath({ tex, raw, display }: MathToken): JSX.Element {
  return <Formula tex={tex} raw={raw} display={display} />;
}

function renderInline(token: Token): ComponentChildren {
  const { tokens, text, raw } = token as Tokens.Generic;
  return tokens ? renderSpans(tokens) : decodeEntities(text ?? raw);
}

function renderSpans(tokens: Token[]): ComponentChildren[] {
  return tokens.map(renderSpan);
}

function renderSpan(token: Token): ComponentChildren {
  const { href, text } = token as Tokens.Generic;
  switch (token.type) {
    case "strong":
      return <strong>{renderInline(token)}</strong>;
    case "em":
      return <em>{renderInline(token)}</em>;
    case "del":
      return <del>{renderInline(token)}</del>;
    case "codespan":
      return <code>{text}</code>;
    case "br":
      return <br />;
    case "escape":
      return text;
    case "link":
      return link(href, renderInline(token), token.raw);
    case "image":
      return ["[", link(href, text ? `image: ${text}` : "image", ""), "]"];
    case "math":
      return renderMath(token as MathToken);
    case "notemark":
      return <sup>{(token as FootnoteRef).label}</sup>;
    case "text":
      return renderInline(token);
    case "plain":
      return renderPlain(token.raw);
    default:
      return token.raw;
  }
}

/** An unformatted text, with a note. */
function renderPlain(text: string): ComponentChildren {
  return [
    <span class="nb-prewrap nb-bidi">
      <LongText text={text.trimEnd()} />
    </span>,
    <span class="nb-muted nb-small"> {AS_SOURCE}</span>,
  ];
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Decode character references. */
function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code < 0x110000 && (code < 0xd800 || code > 0xdfff)
      ? String.fromCodePoint(code)
      : "\ufffd";
  });
}
