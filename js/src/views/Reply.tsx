import { Component, type JSX } from "preact";
import { growingMarkdown } from "../markdown";
import type { ProseBlock } from "../protocol";
import { Ending } from "./Ending";

/** Prose of the model, as Markdown. */
export class Reply extends Component<{ block: ProseBlock }> {
  #read = growingMarkdown();

  render(): JSX.Element {
    const { block } = this.props;
    return (
      <div class="nb-reply" aria-busy={block.state === "open"}>
        {block.refusal && <p class="nb-quiet">The model refused:</p>}
        {this.#read(block.text)}
        <Ending block={block} />
      </div>
    );
  }
}
