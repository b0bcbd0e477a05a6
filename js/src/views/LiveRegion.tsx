import { Component, type JSX } from "preact";
import type { Block } from "../protocol";

/** Milliseconds between two announcements: a screen reader finishes one before it gets the next. */
const PAUSE_MS = 1500;

/** Characters of one announcement. */
const MAX_ANNOUNCED_CHARS = 600;

/** Maximum characters that are queued: of a longer text only the start is announced, and what follows later. */
const MAX_BACKLOG_CHARS = 4_000;

/** Announces the finished sentences of a streaming reply to screen readers. */
export class LiveRegion extends Component<{ blocks: Block[] }, { text: string }> {
  override state = { text: "" };
  #block = "";
  #announced = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override shouldComponentUpdate(_: object, { text }: { text: string }): boolean {
    this.#timer ??= setTimeout(this.#announce, PAUSE_MS);
    return text !== this.state.text;
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    return (
      <div class="nb-visually-hidden" role="log" aria-live="polite">
        {this.state.text}
      </div>
    );
  }

  #announce = (): void => {
    this.#timer = undefined;
    const last = this.props.blocks.findLast((block) => block.kind === "text");
    if (last?.kind !== "text") return;
    if (last.id !== this.#block) [this.#block, this.#announced] = [last.id, 0];
    const remaining = last.text.length - this.#announced;
    const isBehind = remaining > MAX_BACKLOG_CHARS;
    const unread = last.text.slice(this.#announced, this.#announced + MAX_BACKLOG_CHARS);
    const end =
      last.state === "open" ? (/^[\s\S]*(?:[.!?:]\s|\n)/.exec(unread)?.[0].length ?? 0) : unread.length;
    if (end === 0 && !isBehind) return;
    this.#announced += isBehind ? remaining : end;
    this.setState({ text: toSpeech(unread.slice(0, end)) });
  };
}

/** Markdown without its marks, and not more than one listens to. */
function toSpeech(text: string): string {
  const plain = text
    .replace(/```[\s\S]*?(?:```|$)/g, " code ")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/[*_`#>|[\]]+/g, "");
  return plain.length > MAX_ANNOUNCED_CHARS ? `${plain.slice(0, MAX_ANNOUNCED_CHARS)}…` : plain;
}
