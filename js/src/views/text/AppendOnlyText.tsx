import { Component, createRef, type JSX } from "preact";
import { limitStacks, StackLimiter } from "../../text/combining";
import { Rope } from "../../text/rope";
import { skipWhenOffscreen } from "./skipOffscreen";

/** Lines that lie in one box, and boxes in the box around them: where a text grows, the browser lays out the last alone. */
const LINES_PER_BOX = 64;
const BOXES_PER_GROUP = 64;

/** Characters after which a box is full even with fewer lines; a longer line continues in the next box, with a marker. */
export const BOX_LIMIT = 10_000;

/** Maximum characters of one text node: breaking one of many scripts into lines takes quadratic time in browsers. */
export const NODE_LIMIT = 1_000;

/** Characters and lines that are written in one task; what is longer is written piece by piece: the page stays usable. */
const SLICE_CHARS = 20_000;
const SLICE_LINES = 2_000;

/** Characters from which on a text that does not grow is written so, too. */
const MIN_GRADUAL_CHARS = 2_000;

/** A text of any length. */
export function LongText({ text }: { text: string }): JSX.Element | string {
  return text.length > MIN_GRADUAL_CHARS ? <AppendOnlyText text={text} /> : limitStacks(text);
}

/**
 * A plain text that grows: only new text is added to the DOM. It has a `dir` of its own, because a browser that
 * appends to an element with `dir="auto"` reads all of it again, until the first letter; `nb-bidi` gives each line its
 * direction by style alone.
 */
export class AppendOnlyText extends Component<{ text: string | Rope }> {
  #el = createRef<HTMLSpanElement>();
  #current: Rope | undefined;
  #box: HTMLElement | undefined;
  #lines = 0;
  #length = 0;
  #isLineEnd = true;
  #limiter = new StackLimiter();
  #unwritten = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  override shouldComponentUpdate({ text }: { text: string | Rope }): boolean {
    this.#update(text);
    return false;
  }

  override componentDidMount(): void {
    this.#update(this.props.text);
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    return <span ref={this.#el} dir="ltr" />;
  }

  #update(value: string | Rope): void {
    const text = typeof value === "string" ? Rope.extend(value, this.#current) : value;
    const addition = text.since(this.#current);
    this.#current = text;
    if (addition === null) {
      this.#el.current?.replaceChildren();
      this.#box = undefined;
      this.#limiter = new StackLimiter();
      this.#unwritten = "";
    }
    this.#unwritten += this.#limiter.push(addition ?? text.toString());
    if (this.#timer === undefined) this.#writeSlice();
  }

  /** Write a slice, and the rest in later tasks; each lays out what it wrote, so that no frame has it all to do. */
  #writeSlice(): void {
    const el = this.#el.current;
    if (!el) return;
    const slice = firstLines(this.#unwritten.slice(0, codePointEnd(this.#unwritten, SLICE_CHARS)));
    this.#unwritten = this.#unwritten.slice(slice.length);
    for (let at = 0; at < slice.length; ) at = this.#fillBox(el, slice, at);
    if (!this.#unwritten) {
      el.removeAttribute("aria-busy");
      return;
    }
    el.setAttribute("aria-busy", "true");
    el.getBoundingClientRect();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writeSlice();
    }, 0);
  }

  /** Fill the last box with lines; return the position where the text continues. */
  #fillBox(container: HTMLElement, text: string, from: number): number {
    if (!this.#box || this.#isFull()) this.#startBox(container);
    let to = from;
    do {
      const end = text.indexOf("\n", to) + 1 || text.length;
      const next = Math.min(end, codePointEnd(text, to + BOX_LIMIT - this.#length));
      this.#isLineEnd = text[next - 1] === "\n";
      if (this.#isLineEnd) this.#lines++;
      this.#length += next - to;
      to = next;
    } while (to < text.length && !this.#isFull());
    if (this.#box) append(this.#box, text.slice(from, to));
    return to;
  }

  #isFull(): boolean {
    return this.#length >= BOX_LIMIT || this.#lines >= LINES_PER_BOX;
  }

  /** A new box, in a new one around it where that is full. */
  #startBox(el: HTMLElement): void {
    let outer = this.#box?.parentElement;
    this.#box?.classList.add("nb-offscreen");
    if (!this.#isLineEnd) this.#box?.classList.add("nb-continued");
    if (outer?.childElementCount === BOXES_PER_GROUP) skipWhenOffscreen(outer);
    if (!outer || outer.childElementCount === BOXES_PER_GROUP) {
      outer = createBox();
      el.append(outer);
    }
    this.#box = createBox();
    this.#lines = 0;
    this.#length = 0;
    outer.append(this.#box);
  }
}

/** Append a text to a box, in nodes that are short and never break a character. */
function append(box: HTMLElement, text: string): void {
  for (let at = 0; at < text.length; ) {
    const last = box.lastChild;
    const node = last instanceof Text && last.length < NODE_LIMIT ? last : document.createTextNode("");
    if (node !== last) box.append(node);
    const end = codePointEnd(text, at + NODE_LIMIT - node.length);
    node.appendData(text.slice(at, end));
    at = end;
  }
}

/** Return a position to split a text, moved after a surrogate pair that it would split. */
function codePointEnd(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code < 0xdc00 ? at + 1 : at;
}

/** Return the first lines of a text, at most as many as one task writes. */
function firstLines(text: string): string {
  let at = 0;
  for (let line = 0; line < SLICE_LINES; line++) {
    at = text.indexOf("\n", at) + 1;
    if (!at) return text;
  }
  return text.slice(0, at);
}

function createBox(): HTMLElement {
  const box = document.createElement("span");
  box.className = "nb-lines";
  return box;
}
