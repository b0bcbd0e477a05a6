import { Component, type JSX } from "preact";
import type { Block } from "../protocol";

/** Milliseconds between two announcements: a screen reader finishes one before it hears the next. */
const PAUSE_MS = 1500;

/** Characters of one announcement. */
const SPOKEN_LIMIT = 600;

/** Characters that are waited with at most: of more than that, only the first are said, and what comes then. */
const BEHIND = 4_000;

/** Says the finished sentences of a reply that is being written, for those who hear the page. */
export class Spoken extends Component<{ blocks: Block[] }, { text: string }> {
  override state = { text: "" };
  #block = "";
  #said = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override shouldComponentUpdate(_: object, { text }: { text: string }): boolean {
    this.#timer ??= setTimeout(this.#say, PAUSE_MS);
    return text !== this.state.text;
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    return (
      <div class="nb-unseen" role="log" aria-live="polite">
        {this.state.text}
      </div>
    );
  }

  #say = (): void => {
    this.#timer = undefined;
    const last = this.props.blocks.findLast((block) => block.kind === "text");
    if (last?.kind !== "text") return;
    if (last.id !== this.#block) [this.#block, this.#said] = [last.id, 0];
    const left = last.text.length - this.#said;
    const isBehind = left > BEHIND;
    const news = last.text.slice(this.#said, this.#said + BEHIND);
    const end = last.state === "open" ? (/^[\s\S]*(?:[.!?:]\s|\n)/.exec(news)?.[0].length ?? 0) : news.length;
    if (end === 0 && !isBehind) return;
    this.#said += isBehind ? left : end;
    this.setState({ text: spoken(news.slice(0, end)) });
  };
}

/** Markdown without its marks, and not more than one listens to. */
function spoken(text: string): string {
  const plain = text
    .replace(/```[\s\S]*?(?:```|$)/g, " code ")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/[*_`#>|[\]]+/g, "");
  return plain.length > SPOKEN_LIMIT ? `${plain.slice(0, SPOKEN_LIMIT)}…` : plain;
}
