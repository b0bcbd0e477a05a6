import { Component, createRef, type JSX } from "preact";
import { MessageBox } from "../../views/text/MessageBox";

interface EditPromptProps {
  prompt: string;
  onSend: (prompt: string) => void;
  onClose: () => void;
}

/** A box with the prompt of a turn: Enter sends it from the turn's cell, as a new version. */
export class EditPrompt extends Component<EditPromptProps, { text: string }> {
  override state = { text: this.props.prompt };
  #area = createRef<HTMLTextAreaElement>();

  override componentDidMount(): void {
    const area = this.#area.current;
    area?.focus({ preventScroll: true });
    area?.setSelectionRange(area.value.length, area.value.length);
    area?.scrollIntoView({ block: "nearest" });
  }

  #send = (): void => {
    if (this.state.text.trim()) this.props.onSend(this.state.text);
  };

  render(): JSX.Element {
    const { text } = this.state;
    return (
      <div class="nb-edit-prompt">
        <MessageBox
          area={this.#area}
          text={text}
          rows={Math.min(12, Math.max(2, text.split("\n").length))}
          maxLength={100_000}
          label="The prompt of this turn"
          title="Enter sends it, Shift+Enter begins a new line, Escape closes this box"
          onInput={(text) => this.setState({ text })}
          onEnter={this.#send}
          onEscape={this.props.onClose}
        />
        <div class="nb-row">
          <button
            type="button"
            class="nb-button nb-primary"
            disabled={!text.trim()}
            title="Enter"
            onClick={this.#send}
          >
            Send
          </button>
          <button type="button" class="nb-button" title="Escape" onClick={this.props.onClose}>
            Cancel
          </button>
          <span class="nb-muted">It runs this cell again, and is a new version of the turn.</span>
        </div>
      </div>
    );
  }
}
