import { Component, createRef, type JSX } from "preact";

/** Lines that lie in one box: where a text grows, the browser lays out the last box alone. */
const BOX_LINES = 200;

/** Characters after which a box is full though no line has ended. */
const BOX_LIMIT = 20_000;

/** A plain text that grows: only what is new is written to the page. */
export class Grown extends Component<{ text: string }> {
  #el = createRef<HTMLSpanElement>();
  #shown = "";
  #lines = 0;

  override shouldComponentUpdate({ text }: { text: string }): boolean {
    this.#grow(text);
    return false;
  }

  override componentDidMount(): void {
    this.#grow(this.props.text);
  }

  render(): JSX.Element {
    return <span ref={this.#el} />;
  }

  #grow(text: string): void {
    const el = this.#el.current;
    if (!el || text === this.#shown) return;
    // engines compare equal lengths by memory; startsWith goes character by character
    if (text.slice(0, this.#shown.length) !== this.#shown) {
      el.replaceChildren();
      this.#shown = "";
    }
    const news = text.slice(this.#shown.length);
    this.#shown = text;
    for (const line of news.match(/[^\n]*\n|[^\n]+$/g) ?? []) this.#write(el, line);
  }

  #write(el: HTMLElement, line: string): void {
    const last = el.lastElementChild?.firstChild;
    const isFull = this.#lines >= BOX_LINES || (last instanceof Text && last.length > BOX_LIMIT);
    if (last instanceof Text && !(isFull && last.data.endsWith("\n"))) last.appendData(line);
    else {
      el.lastElementChild?.classList.add("nb-full");
      const box = document.createElement("span");
      box.className = "nb-lines";
      box.append(line);
      el.append(box);
      this.#lines = 0;
    }
    if (line.endsWith("\n")) this.#lines++;
  }
}
