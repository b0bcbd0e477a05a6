import { Component, createRef, type JSX } from "preact";
import { Stacks, withoutStacks } from "../text/combining";
import { Growing } from "../text/rope";
import { passOver } from "./skipOffscreen";

/** Lines that lie in one box, and boxes in the box around them: where a text grows, the browser lays out the last alone. */
const LINES = 64;
const BOXES = 64;

/** Characters after which a box is full though it has fewer lines; a longer line goes on in the next box, which says so. */
export const BOX_LIMIT = 10_000;

/** Characters of one text node: a browser takes quadratic time to break one of many scripts into lines. */
export const NODE_LIMIT = 1_000;

/** Characters that are written in one task; what is longer is written piece by piece, and the page stays usable. */
const SLICE = 20_000;

/** Characters from which on a text that does not grow is written so, too. */
const LONG = 2_000;

/** A text of any length. */
export function LongText({ text }: { text: string }): JSX.Element {
  return text.length > LONG ? <Grown text={text} /> : <>{withoutStacks(text)}</>;
}

/** A plain text that grows: only what is new is written to the page. */
export class Grown extends Component<{ text: string | Growing }> {
  #el = createRef<HTMLSpanElement>();
  #seen: Growing | undefined;
  #box: HTMLElement | undefined;
  #lines = 0;
  #length = 0;
  #isLineEnd = true;
  #stacks = new Stacks();
  #unwritten = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  override shouldComponentUpdate({ text }: { text: string | Growing }): boolean {
    this.#grow(text);
    return false;
  }

  override componentDidMount(): void {
    this.#grow(this.props.text);
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    return <span ref={this.#el} />;
  }

  #grow(given: string | Growing): void {
    const text = typeof given === "string" ? Growing.from(given, this.#seen) : given;
    const news = text.since(this.#seen);
    this.#seen = text;
    if (news === null) {
      this.#el.current?.replaceChildren();
      this.#box = undefined;
      this.#stacks = new Stacks();
      this.#unwritten = "";
    }
    this.#unwritten += this.#stacks.take(news ?? text.toString());
    if (this.#timer === undefined) this.#writeOn();
  }

  /** Write a slice, and the rest in later tasks; each lays out what it wrote, so that no frame has it all to do. */
  #writeOn(): void {
    const el = this.#el.current;
    if (!el) return;
    const end = whole(this.#unwritten, SLICE);
    const slice = this.#unwritten.slice(0, end);
    this.#unwritten = this.#unwritten.slice(end);
    for (let at = 0; at < slice.length; ) at = this.#write(el, slice, at);
    if (!this.#unwritten) {
      el.removeAttribute("aria-busy");
      return;
    }
    el.setAttribute("aria-busy", "true");
    el.getBoundingClientRect();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writeOn();
    }, 0);
  }

  /** Write as many lines as the last box takes; gives where the text goes on. */
  #write(el: HTMLElement, text: string, from: number): number {
    if (!this.#box || this.#isFull()) this.#begin(el);
    let to = from;
    do {
      const end = text.indexOf("\n", to) + 1 || text.length;
      const next = Math.min(end, whole(text, to + BOX_LIMIT - this.#length));
      this.#isLineEnd = text[next - 1] === "\n";
      if (this.#isLineEnd) this.#lines++;
      this.#length += next - to;
      to = next;
    } while (to < text.length && !this.#isFull());
    if (this.#box) append(this.#box, text.slice(from, to));
    return to;
  }

  #isFull(): boolean {
    return this.#length >= BOX_LIMIT || this.#lines >= LINES;
  }

  /** A new box, in a new one around it where that is full. */
  #begin(el: HTMLElement): void {
    let around = this.#box?.parentElement;
    this.#box?.classList.add("nb-passed");
    if (!this.#isLineEnd) this.#box?.classList.add("nb-goes-on");
    if (around?.childElementCount === BOXES) passOver(around);
    if (!around || around.childElementCount === BOXES) {
      around = lines();
      el.append(around);
    }
    this.#box = lines();
    this.#lines = 0;
    this.#length = 0;
    around.append(this.#box);
  }
}

/** Append a text to a box, in nodes that are short and never break a character. */
function append(box: HTMLElement, text: string): void {
  for (let at = 0; at < text.length; ) {
    const last = box.lastChild;
    const node = last instanceof Text && last.length < NODE_LIMIT ? last : document.createTextNode("");
    if (node !== last) box.append(node);
    const end = whole(text, at + NODE_LIMIT - node.length);
    node.appendData(text.slice(at, end));
    at = end;
  }
}

/** A place to cut a text, moved behind a character of two units that lies across it. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at - 1);
  return code >= 0xd800 && code < 0xdc00 ? at + 1 : at;
}

function lines(): HTMLElement {
  const box = document.createElement("span");
  box.className = "nb-lines";
  return box;
}
