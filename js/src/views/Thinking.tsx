import { Component, type JSX } from "preact";
import type { ProseBlock } from "../protocol";
import { formatSeconds } from "../text/format";
import { Reply } from "./Reply";

/** What the model thought aloud, folded; rendered when it is first opened. */
export class Thinking extends Component<{ block: ProseBlock }, { isOpen: boolean }> {
  override state = { isOpen: false };

  render(): JSX.Element {
    const { block } = this.props;
    return (
      <details
        class="nb-fold nb-thinking"
        onToggle={({ currentTarget }) => currentTarget.open && this.setState({ isOpen: true })}
      >
        <summary class="nb-muted">{labelOf(block)}</summary>
        <div class="nb-fold-body">{this.state.isOpen && <Reply block={block} />}</div>
      </details>
    );
  }
}

function labelOf({ state, seconds }: ProseBlock): string {
  if (state === "open") return "Thinking…";
  return seconds ? `Thought for ${formatSeconds(seconds)}` : "Thought";
}
