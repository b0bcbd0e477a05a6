import { Component, type ComponentChildren, type JSX, type VNode } from "preact";
import { limitStacks } from "../../text/combining";
import { findConfusables, findMatches, hexCode, mergeRanges, type TextRange } from "../../text/confusables";
import { Gradual } from "../../views/text/Gradual";

/**
 * What does not look like what it is: ignorable, format and control characters, separators, and every space but the
 * common one. See https://www.unicode.org/reports/tr36/#visual_spoofing
 */
const HIDDEN = /(?![\n\t ])[\p{DI}\p{Cc}\p{Cf}\p{Z}\u2800]/gu;

/** A stretch of text and how it is shown. */
export interface HiddenRange {
  raw: string;
  shown: string;
}

/**
 * Split a text at unusual characters and confusable letters; each of those is shown as its escape. The parts are generated
 * one by one, so that a long text can be rendered before all of it is split.
 */
export function* hiddenRanges(text: string): Generator<HiddenRange> {
  let at = 0;
  for (const [from, to] of findHidden(text)) {
    if (from > at) yield plainRange(text.slice(at, from));
    const raw = text.slice(from, to);
    yield { raw, shown: `\\u{${hexCode(raw)}}` };
    at = to;
  }
  if (at < text.length) yield plainRange(text.slice(at));
}

/** A text in which odd characters can be seen, each as its escape with a mark around it. */
export function markHidden(text: string): ComponentChildren {
  return Array.from(hiddenRanges(text), ({ raw, shown }) =>
    raw === shown ? limitStacks(shown) : <mark class="nb-hidden-char">{shown}</mark>,
  );
}

/** Characters above which a text is rendered gradually. */
const MIN_GRADUAL_CHARS = 2_000;

/** Shown characters of one box, and those after which a line continues in the next one, with a marker. */
const BOX_CHARS = 2_000;
const BOX_LIMIT = 5_000;

/** Maximum characters of a text node or mark: breaking one of many scripts into lines takes quadratic time in browsers. */
const NODE_LIMIT = 1_000;

/** A text of any length as `marked` shows it; a long one is rendered in parts. */
export class MarkedText extends Component<{ text: string }> {
  override shouldComponentUpdate({ text }: { text: string }): boolean {
    return text !== this.props.text;
  }

  render(): JSX.Element {
    const { text } = this.props;
    if (text.length <= MIN_GRADUAL_CHARS) return <>{markHidden(text)}</>;
    return <Gradual nodes={textBoxes(text)} each={1} />;
  }
}

/** Characters of the longest escape; a mark of more holds several, and may be broken into lines. */
const LONGEST_ESCAPE = "\\u{10ffff}".length;

type Piece = [shown: string, isOdd: boolean];

/** A long text in boxes, each of which holds whole lines where these are not too long. */
function* textBoxes(text: string): Generator<VNode> {
  let number = 0;
  let [pieces, length]: [Piece[], number] = [[], 0];
  for (const piece of shortPieces(text)) {
    pieces.push(piece);
    length += piece[0].length;
    const isLineEnd = piece[0].endsWith("\n");
    if (length < BOX_CHARS || !(isLineEnd || length >= BOX_LIMIT)) continue;
    yield <Box key={number++} pieces={pieces} isContinued={!isLineEnd} />;
    [pieces, length] = [[], 0];
  }
  yield <Box key={number} pieces={pieces} isContinued={false} />;
}

/** A component, so that its marks are created when it is rendered. */
function Box({ pieces, isContinued }: { pieces: Piece[]; isContinued: boolean }): JSX.Element {
  return (
    <span class={isContinued ? "nb-lines nb-continued" : "nb-lines"}>
      {pieces.map(([shown, isHidden]) =>
        isHidden ? (
          <mark class={shown.length > LONGEST_ESCAPE ? "nb-hidden-char nb-hidden-run" : "nb-hidden-char"}>
            {shown}
          </mark>
        ) : (
          shown
        ),
      )}
    </span>
  );
}

/** What is shown of a text, in short pieces: odd characters in a row are one mark, and other pieces end with lines. */
function* shortPieces(text: string): Generator<Piece> {
  let escapes = "";
  for (const { raw, shown } of hiddenRanges(text)) {
    const isHidden = raw !== shown;
    if (escapes && (!isHidden || escapes.length >= NODE_LIMIT)) {
      yield [escapes, true];
      escapes = "";
    }
    if (isHidden) escapes += shown;
    else for (const [piece] of limitStacks(shown).matchAll(PIECES)) yield [piece, false];
  }
  if (escapes) yield [escapes, true];
}

const PIECES = new RegExp(`[^\\n]{0,${NODE_LIMIT - 1}}\\n|[^\\n]{1,${NODE_LIMIT}}`, "gu");

/** Whether a text holds an odd character. */
export function hasHidden(text: string): boolean {
  return findHidden(text).next().done !== true;
}

function findHidden(text: string): Generator<TextRange> {
  return mergeRanges(findMatches(text, HIDDEN), findConfusables(text));
}

function plainRange(text: string): HiddenRange {
  return { raw: text, shown: text };
}
