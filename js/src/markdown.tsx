import { Lexer, type Token, Tokenizer, type Tokens } from "marked";
import { Component, type ComponentChildren, createRef, Fragment, type JSX, type VNode } from "preact";

/** marked's lexer without what a model must not have: raw HTML, and definitions that reach back into settled text. */
class PlainTokenizer extends Tokenizer {
  override html(): undefined {}
  override tag(): undefined {}
  override def(): undefined {}
}

function lex(text: string): Token[] {
  try {
    return new Lexer({ gfm: true, tokenizer: new PlainTokenizer() }).lex(text);
  } catch {
    return [{ type: "code", raw: text, text }]; // nesting that no person writes
  }
}

interface Fence {
  opening: number;
  closing: RegExp;
}

/**
 * Read a reply that grows. Blocks that no later text can change are rendered once and kept; only the open tail is
 * read again, and an open code fence is not read at all.
 */
export function growingMarkdown(): (text: string) => VNode[] {
  let seen = "";
  let start = 0;
  let settled: VNode[] = [];
  let fence: Fence | null = null;

  return (text) => {
    // engines compare equal lengths by memory; startsWith goes character by character
    if (text.slice(0, seen.length) !== seen) {
      start = 0;
      settled = [];
      fence = null;
    }
    seen = text;
    const tail = text.slice(start);
    if (fence && !fence.closing.test(tail)) return [...settled, openFence(tail, fence, start)];
    const tokens = lex(tail);
    const keep = stable(tokens, tail);
    let at = start;
    const nodes = tokens.map((token) => {
      const node = <Fragment key={at}>{block(token)}</Fragment>;
      at += token.raw.length;
      return node;
    });
    settled = settled.concat(nodes.slice(0, keep));
    start += length(tokens.slice(0, keep));
    fence = fenceOf(text.slice(start));
    if (fence && !fence.closing.test(text.slice(start))) {
      return [...settled, openFence(text.slice(start), fence, start)];
    }
    return [...settled, ...nodes.slice(keep)];
  };
}

/**
 * How many of the first tokens later text cannot change: those before the last token that begins on a whole line,
 * after a blank one or with a code fence.
 */
function stable(tokens: Token[], tail: string): number {
  let end = tail.length;
  for (let i = tokens.length - 1; i > 0; i--) {
    const token = tokens[i];
    if (!token) break;
    end -= token.raw.length;
    const wholeLine = tail.indexOf("\n", end) >= 0;
    const afterBlank = /\n[ \t]*\n$/.test(tail.slice(Math.max(0, end - 80), end));
    if (token.type !== "space" && wholeLine && (afterBlank || /^(```|~~~)/.test(token.raw))) return i;
  }
  return 0;
}

function length(tokens: Token[]): number {
  return tokens.reduce((sum, token) => sum + token.raw.length, 0);
}

function fenceOf(tail: string): Fence | null {
  const found = /^(`{3,}(?=[^`\n]*\n)|~{3,})[^\n]*\n/.exec(tail);
  const mark = found?.[1];
  if (!found || !mark) return null;
  return {
    opening: found[0].length,
    closing: new RegExp(`\\n {0,3}${mark[0]}{${mark.length},}[ \\t]*(?:\\n|$)`),
  };
}

function openFence(tail: string, fence: Fence, key: number): VNode {
  return (
    <Fragment key={key}>
      <Code text={tail.slice(fence.opening).replace(/\n$/, "")} />
    </Fragment>
  );
}

/** A code block; while it grows, only what is new is written to the page. */
class Code extends Component<{ text: string }> {
  #code = createRef<HTMLElement>();

  override shouldComponentUpdate({ text }: { text: string }): boolean {
    const node = this.#code.current?.firstChild;
    if (!(node instanceof Text)) return true;
    if (text.slice(0, node.length) === node.data) node.appendData(text.slice(node.length));
    else node.data = text;
    return false;
  }

  render(): JSX.Element {
    return (
      <pre class="nb-code">
        <code ref={this.#code}>{this.props.text}</code>
      </pre>
    );
  }
}

function block(token: Token): ComponentChildren {
  const known = token as Tokens.Generic;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "code":
      return <Code text={known.text} />;
    case "heading": {
      const Heading = `h${Math.min(known.depth + 2, 6)}` as "h3";
      return <Heading>{inline(token)}</Heading>;
    }
    case "blockquote":
      return <blockquote>{blocks(known.tokens)}</blockquote>;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "text":
      return inline(token);
    default:
      return <p>{inline(token)}</p>;
  }
}

function blocks(tokens: Token[] | undefined): ComponentChildren[] {
  return (tokens ?? []).map(block);
}

function list(token: Tokens.List): JSX.Element {
  const items = token.items.map((item) => <li>{listItem(item)}</li>);
  return token.ordered ? <ol start={Number(token.start) || 0}>{items}</ol> : <ul>{items}</ul>;
}

function listItem(item: Tokens.ListItem): ComponentChildren {
  return item.tokens.map((token) =>
    token.type === "checkbox" ? (item.checked ? "☑ " : "☐ ") : block(token),
  );
}

function table({ header, rows }: Tokens.Table): JSX.Element {
  const cells = (row: Tokens.TableCell[], Cell: "td" | "th"): JSX.Element[] =>
    row.map((cell) => <Cell style={cell.align ? { textAlign: cell.align } : {}}>{spans(cell.tokens)}</Cell>);
  return (
    <div class="nb-table">
      <table>
        <thead>
          <tr>{cells(header, "th")}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
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
    case "text":
      return inline(token);
    default:
      return token.raw;
  }
}

const SCHEMES = ["http:", "https:", "mailto:"];

/** A link to the web or a mail address that says where it leads; any other is its words alone. */
function link(href: string, words: ComponentChildren, raw: string): ComponentChildren {
  if (!/^(https?:\/\/|mailto:)/i.test(href) || !URL.canParse(href)) return words;
  const url = new URL(href);
  if (!SCHEMES.includes(url.protocol)) return words;
  const place = url.protocol === "mailto:" ? url.pathname : url.host;
  return [
    <a href={url.href} title={url.href} target="_blank" rel="noopener noreferrer">
      {words}
    </a>,
    raw.split("](")[0]?.includes(place) ? null : <span class="nb-quiet"> ({place})</span>,
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
