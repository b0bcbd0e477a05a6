import { Component, createRef, type JSX } from "preact";
import type { ProseBlock } from "../protocol";
import { Stacks } from "../text/combining";
import type { Growing } from "../text/rope";
import { Ending } from "../views/Truncation";
import { GrowingMarkdown } from "./markdown/incremental";

/** Characters read in one go: a long reply that comes whole is shown piece by piece, and the page stays usable. */
const SLICE = 8_192;

/** Prose of the model, as Markdown. */
export class Prose extends Component<{ block: ProseBlock; text: Growing }> {
  #el = createRef<HTMLDivElement>();
  #markdown = new GrowingMarkdown();
  #seen: Growing | undefined;
  #unread = "";
  #stacks = new Stacks();
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidUpdate(): void {
    if (this.#unread) this.#el.current?.getBoundingClientRect(); // laid out now, so that no frame has it all to do
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    const { block, text } = this.props;
    this.#take(text);
    const piece = this.#unread.slice(0, SLICE);
    this.#unread = this.#unread.slice(SLICE);
    const isAll = !this.#unread;
    clearTimeout(this.#timer);
    if (!isAll) this.#timer = setTimeout(() => this.forceUpdate(), 0);
    return (
      <div ref={this.#el} class="nb-reply" aria-busy={!isAll || block.state === "open"}>
        {block.refusal && <p class="nb-quiet">The model refused:</p>}
        {this.#markdown.read(piece, !isAll || block.state === "open")}
        {isAll && <Ending block={block} />}
      </div>
    );
  }

  /** Take what is new; a text that is another one is read from its beginning. */
  #take(text: Growing): void {
    const news = text.since(this.#seen);
    this.#seen = text;
    if (news === null) {
      this.#markdown = new GrowingMarkdown();
      this.#stacks = new Stacks();
      this.#unread = "";
    }
    this.#unread += this.#stacks.take(news ?? text.toString());
  }
}
