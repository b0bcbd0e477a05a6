import { Component, createRef, type JSX } from "preact";
import { Stacks } from "../combining";
import { Growing } from "../growing";
import { passOver } from "./passed";

/** Lines that lie in one box, and boxes in the box around them: where a text grows, the browser lays out the last alone. */
const LINES = 64;
const BOXES = 64;

/** Characters after which a box is full though it has fewer lines. */
const BOX_LIMIT = 20_000;

/** A plain text that grows: only what is new is written to the page. */
export class Grown extends Component<{ text: string | Growing }> {
  #el = createRef<HTMLSpanElement>();
  #seen: Growing | undefined;
  #box: HTMLElement | undefined;
  #lines = 0;
  #stacks = new Stacks();

  override shouldComponentUpdate({ text }: { text: string | Growing }): boolean {
    this.#grow(text);
    return false;
  }

  override componentDidMount(): void {
    this.#grow(this.props.text);
  }

  render(): JSX.Element {
    return <span ref={this.#el} />;
  }

  #grow(given: string | Growing): void {
    const el = this.#el.current;
    if (!el) return;
    const text = typeof given === "string" ? Growing.from(given, this.#seen) : given;
    const news = text.since(this.#seen);
    this.#seen = text;
    if (news === null) {
      el.replaceChildren();
      this.#box = undefined;
      this.#stacks = new Stacks();
    }
    const drawn = this.#stacks.take(news ?? text.toString());
    for (const line of drawn.match(/[^\n]*\n|[^\n]+$/g) ?? []) this.#write(el, line);
  }

  #write(el: HTMLElement, line: string): void {
    const last = this.#box?.firstChild;
    const isFull = this.#lines >= LINES || (last instanceof Text && last.length > BOX_LIMIT);
    if (last instanceof Text && !(isFull && last.data.endsWith("\n"))) last.appendData(line);
    else this.#begin(el).append(line);
    if (line.endsWith("\n")) this.#lines++;
  }

  /** A new box, in a new one around it where that is full. */
  #begin(el: HTMLElement): HTMLElement {
    let around = this.#box?.parentElement;
    this.#box?.classList.add("nb-passed");
    if (around?.childElementCount === BOXES) passOver(around);
    if (!around || around.childElementCount === BOXES) {
      around = lines();
      el.append(around);
    }
    this.#box = lines();
    this.#lines = 0;
    around.append(this.#box);
    return this.#box;
  }
}

function lines(): HTMLElement {
  const box = document.createElement("span");
  box.className = "nb-lines";
  return box;
}
