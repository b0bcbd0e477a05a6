import type { Token, Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { LongText } from "../../views/AppendOnlyText";
import { GROUP, Pile } from "./chunks";
import { Code } from "./code";
import { Formula } from "./formula";
import type { MathToken, NoteMark, NotesToken } from "./lexer";
import { link } from "./links";

/** Characters of one block, item or cell above which it is shown as it was written. */
export const BLOCK_LIMIT = 10_000;

/** What stands below a text that is shown as it was written. */
export const AS_WRITTEN = "[as it was written: there is more markup here than is set]";

/** One block as it is shown. */
export function block(token: Token): ComponentChildren {
  const known = token as Tokens.Generic;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "code":
      return <Code text={known.text} language={language(known.lang)} open={false} />;
    case "math":
      return math(known as MathToken);
    case "notes":
      return (known as NotesToken).notes.map(({ label, tokens }) => (
        <p class="nb-note" dir="auto">
          <sup>{label}</sup> {spans(tokens)}
        </p>
      ));
    case "heading": {
      const Heading = `h${Math.min(known.depth + 2, 6)}` as "h3";
      return <Heading dir="auto">{inline(token)}</Heading>;
    }
    case "blockquote":
      return <blockquote dir="auto">{blocks(known.tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "text":
      return inline(token);
    case "plain":
      return <div dir="auto">{plain(token.raw)}</div>;
    default:
      return <p dir="auto">{inline(token)}</p>;
  }
}

/** The language a code fence names. */
export function language(info: string | undefined): string {
  return /^[\w+#.-]{1,20}/.exec(info ?? "")?.[0].toLowerCase() ?? "";
}

function blocks(tokens: Token[] | undefined): ComponentChildren[] {
  return (tokens ?? []).map(block);
}

/** A list; `pile` holds its items that are settled. A long one is several to the browser's layout. */
export function list(token: Tokens.List, pile?: Pile): ComponentChildren {
  const items = listItems(token.items);
  if (pile || items.length > GROUP) return (pile ?? listPile(token)).view(items);
  return <Items list={token} index={0} isFull={false} items={items} />;
}

/** A pile for the items of a long list. */
export function listPile(list: Tokens.List): Pile {
  return new Pile((items, index, isFull) => (
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
  const passed = isFull ? "nb-passed" : undefined;
  const dir = isRightToLeft(list.items[0]?.text ?? "") ? "rtl" : undefined;
  if (!list.ordered) {
    return (
      <ul class={passed} dir={dir}>
        {items}
      </ul>
    );
  }
  return (
    <ol class={passed} dir={dir} start={(Number(list.start) || 0) + index * GROUP}>
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
export function listItems(items: Tokens.ListItem[]): JSX.Element[] {
  return items.map((item) => <li class={item.task ? "nb-task" : undefined}>{listItem(item)}</li>);
}

function listItem({ tokens, checked }: Tokens.ListItem): ComponentChildren {
  const isProse = ({ type }: Token): boolean => type === "text" || type === "paragraph";
  const many = tokens.filter(isProse).length > 1;
  return tokens.map((token) => {
    if (token.type === "checkbox") return checked ? "☑ " : "☐ ";
    if (!isProse(token)) return block(token);
    return many ? <p dir="auto">{inline(token)}</p> : inline(token);
  });
}

/** A table; `pile` holds its rows that are settled. A long one is several, of columns alike. */
export function table(token: Tokens.Table, pile?: Pile): JSX.Element {
  const rows = tableRows(token.rows);
  const isLong = pile !== undefined || rows.length > GROUP;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-table" tabIndex={0} aria-label="Table">
      {isLong ? (pile ?? tablePile(token)).view(rows) : <Rows header={token.header} rows={rows} />}
    </section>
  );
}

/** A pile for the rows of a long table. */
export function tablePile({ header }: Tokens.Table): Pile {
  return new Pile((rows, index, isFull) => (
    <Rows
      key={index}
      header={index === 0 ? header : null}
      rows={rows}
      kind={isFull ? "nb-alike nb-passed" : "nb-alike"}
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
          <tr>{cells(header, "th")}</tr>
        </thead>
      )}
      <tbody>{rows}</tbody>
    </table>
  );
}

/** The rows of a table. */
export function tableRows(rows: Tokens.TableCell[][]): JSX.Element[] {
  return rows.map((row) => <tr>{cells(row, "td")}</tr>);
}

function cells(row: Tokens.TableCell[], Cell: "td" | "th"): JSX.Element[] {
  return row.map((cell) => (
    <Cell dir="auto" style={cell.align ? { textAlign: cell.align } : {}}>
      {spans(cell.tokens)}
    </Cell>
  ));
}

function math({ tex, raw, display }: MathToken): JSX.Element {
  return <Formula tex={tex} raw={raw} display={display} />;
}

function inline(token: Token): ComponentChildren {
  const { tokens, text, raw } = token as Tokens.Generic;
  return tokens ? spans(tokens) : unescaped(text ?? raw);
}

function spans(tokens: Token[]): ComponentChildren[] {
  return tokens.map(span);
}

function span(token: Token): ComponentChildren {
  const { href, text } = token as Tokens.Generic;
  switch (token.type) {
    case "strong":
      return <strong>{inline(token)}</strong>;
    case "em":
      return <em>{inline(token)}</em>;
    case "del":
      return <del>{inline(token)}</del>;
    case "codespan":
      return <code>{text}</code>;
    case "br":
      return <br />;
    case "escape":
      return text;
    case "link":
      return link(href, inline(token), token.raw);
    case "image":
      return ["[", link(href, text ? `image: ${text}` : "image", ""), "]"];
    case "math":
      return math(token as MathToken);
    case "notemark":
      return <sup>{(token as NoteMark).label}</sup>;
    case "text":
      return inline(token);
    case "plain":
      return plain(token.raw);
    default:
      return token.raw;
  }
}

/** A text as it was written, and a line that says so. */
function plain(text: string): ComponentChildren {
  return [
    <span class="nb-prewrap">
      <LongText text={text.trimEnd()} />
    </span>,
    <span class="nb-quiet nb-small"> {AS_WRITTEN}</span>,
  ];
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** Character references as the characters they stand for. */
function unescaped(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{2,8}));/g, (whole, decimal, hex, name) => {
    if (name) return ENTITIES[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code < 0x110000 && (code < 0xd800 || code > 0xdfff)
      ? String.fromCodePoint(code)
      : "\ufffd";
  });
}
