import { Component, type JSX } from "preact";
import type { ProseBlock } from "../protocol";
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
        <summary class="nb-muted">{block.state === "open" ? "Thinking…" : "Thinking"}</summary>
        <div class="nb-fold-body">{this.state.isOpen && <Reply block={block} />}</div>
      </details>
    );
  }
}
