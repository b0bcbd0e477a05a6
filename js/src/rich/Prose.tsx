import { Component, type JSX } from "preact";
import type { ProseBlock } from "../protocol";
import { Ending } from "../views/Ending";
import { GrowingMarkdown } from "./markdown/growing";

/** Characters read in one go: a long reply that comes whole is shown piece by piece, and the page stays usable. */
const SLICE = 32_768;

/** Prose of the model, as Markdown. */
export class Prose extends Component<{ block: ProseBlock }> {
  #markdown = new GrowingMarkdown();
  #reached = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    const { block } = this.props;
    const { text } = block;
    this.#reached = Math.min(text.length, this.#reached + SLICE);
    const isAll = this.#reached === text.length;
    clearTimeout(this.#timer);
    if (!isAll) this.#timer = setTimeout(() => this.forceUpdate(), 0);
    return (
      <div class="nb-reply" aria-busy={block.state === "open"}>
        {block.refusal && <p class="nb-quiet">The model refused:</p>}
        {this.#markdown.read(isAll ? text : text.slice(0, this.#reached), !isAll || block.state === "open")}
        {isAll && <Ending block={block} />}
      </div>
    );
  }
}
