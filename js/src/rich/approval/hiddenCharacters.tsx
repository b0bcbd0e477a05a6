import { Component, type ComponentChildren, type JSX, type VNode } from "preact";
import { withoutStacks } from "../../text/combining";
import { codeOf, inOrder, lookalikes, matches, type PlaceInText } from "../../text/confusables";
import { Gradual } from "../../views/Gradual";

/**
 * What does not look like what it is: ignorable, format and control characters, separators, and every space but the
 * common one. See https://www.unicode.org/reports/tr36/#visual_spoofing
 */
const ODD = /(?![\n\t ])[\p{DI}\p{Cc}\p{Cf}\p{Z}\u2800]/gu;

/** A stretch of text and how it is shown. */
export interface Stretch {
  raw: string;
  shown: string;
}

/**
 * Cut a text where odd characters stand, and letters that look like others; each of those is shown as its escape. The
 * pieces are made one by one, so that a long text can be drawn before all of it is cut.
 */
export function* stretches(text: string): Generator<Stretch> {
  let at = 0;
  for (const [from, to] of oddPlaces(text)) {
    if (from > at) yield plain(text.slice(at, from));
    const raw = text.slice(from, to);
    yield { raw, shown: `\\u{${codeOf(raw)}}` };
    at = to;
  }
  if (at < text.length) yield plain(text.slice(at));
}

/** A text in which odd characters can be seen, each as its escape with a mark around it. */
export function marked(text: string): ComponentChildren {
  return Array.from(stretches(text), ({ raw, shown }) =>
    raw === shown ? withoutStacks(shown) : <mark class="nb-odd">{shown}</mark>,
  );
}

/** Characters from which on a text is drawn gradually. */
const LONG = 2_000;

/** Shown characters of one box, and those after which a line goes on in the next one, which says so. */
const BOX = 2_000;
const BOX_LIMIT = 5_000;

/** Characters of one text node or mark: a browser takes quadratic time to break one of many scripts into lines. */
const NODE_LIMIT = 1_000;

/** A text of any length as `marked` shows it; a long one is drawn piece by piece. */
export class Marked extends Component<{ text: string }> {
  override shouldComponentUpdate({ text }: { text: string }): boolean {
    return text !== this.props.text;
  }

  render(): JSX.Element {
    const { text } = this.props;
    if (text.length <= LONG) return <>{marked(text)}</>;
    return <Gradual nodes={boxesOf(text)} each={1} />;
  }
}

/** Characters of the longest escape; a mark of more holds several, and may be broken into lines. */
const ONE = "\\u{10ffff}".length;

type Piece = [shown: string, isOdd: boolean];

/** A long text in boxes, each of which holds whole lines where these are not too long. */
function* boxesOf(text: string): Generator<VNode> {
  let number = 0;
  let [pieces, length]: [Piece[], number] = [[], 0];
  for (const piece of short(text)) {
    pieces.push(piece);
    length += piece[0].length;
    const isLineEnd = piece[0].endsWith("\n");
    if (length < BOX || !(isLineEnd || length >= BOX_LIMIT)) continue;
    yield <Box key={number++} pieces={pieces} goesOn={!isLineEnd} />;
    [pieces, length] = [[], 0];
  }
  yield <Box key={number} pieces={pieces} goesOn={false} />;
}

/** A component, so that its marks are made when it is drawn. */
function Box({ pieces, goesOn }: { pieces: Piece[]; goesOn: boolean }): JSX.Element {
  return (
    <span class={goesOn ? "nb-lines nb-goes-on" : "nb-lines"}>
      {pieces.map(([shown, isOdd]) =>
        isOdd ? <mark class={shown.length > ONE ? "nb-odd nb-odd-row" : "nb-odd"}>{shown}</mark> : shown,
      )}
    </span>
  );
}

/** What is shown of a text, in short pieces: odd characters in a row are one mark, and other pieces end with lines. */
function* short(text: string): Generator<Piece> {
  let odd = "";
  for (const { raw, shown } of stretches(text)) {
    const isOdd = raw !== shown;
    if (odd && (!isOdd || odd.length >= NODE_LIMIT)) {
      yield [odd, true];
      odd = "";
    }
    if (isOdd) odd += shown;
    else for (const [piece] of withoutStacks(shown).matchAll(PIECES)) yield [piece, false];
  }
  if (odd) yield [odd, true];
}

const PIECES = new RegExp(`[^\\n]{0,${NODE_LIMIT - 1}}\\n|[^\\n]{1,${NODE_LIMIT}}`, "gu");

/** Whether a text holds an odd character. */
export function isOdd(text: string): boolean {
  return oddPlaces(text).next().done !== true;
}

function oddPlaces(text: string): Generator<PlaceInText> {
  return inOrder(matches(text, ODD), lookalikes(text));
}

function plain(text: string): Stretch {
  return { raw: text, shown: text };
}
