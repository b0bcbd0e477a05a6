import { Component, type JSX } from "preact";
import type { ModelChoice } from "../generated";
import { ModelSelect } from "../views/ModelSelect";
import { MessageBox } from "../views/text/MessageBox";

interface ComposerProps {
  /** The models for the next prompt, that of the chat first. */
  models: readonly ModelChoice[];
  /** Whether the page can send the prompt at once; else it becomes a cell below. */
  canSend: boolean;
  /** Take the text; with `isCell` it is only to become a cell below. */
  onSubmit: (text: string, model: ModelChoice | undefined, isCell: boolean) => void;
}

/** The box for the next prompt: it becomes a cell below, which is run at once where the page can; with Alt it is not. */
export class Composer extends Component<ComposerProps, { text: string; model: string }> {
  override state = { text: "", model: "" };

  /** The chosen model; undefined for that of the chat. */
  #choice(): ModelChoice | undefined {
    return this.props.models.find(({ name, magic }) => name === this.state.model && magic);
  }

  #submit = ({ altKey }: { altKey: boolean }): void => {
    const text = this.state.text.trim();
    if (!text) return;
    this.props.onSubmit(text, this.#choice(), altKey);
    this.setState({ text: "" });
  };

  render(): JSX.Element {
    const { text } = this.state;
    const { models, canSend } = this.props;
    const what = canSend ? "Continue the chat" : "Continue the chat: your text becomes a new cell below";
    return (
      <div class="nb-composer">
        <MessageBox
          text={text}
          rows={2}
          maxLength={100_000}
          placeholder={`${what} (Shift+Enter: new line)`}
          label={what}
          onInput={(text) => this.setState({ text })}
          onEnter={this.#submit}
        />
        <div class="nb-composer-side">
          {models.length > 0 && (
            <ModelSelect
              models={models}
              chosen={this.#choice()}
              label="Model of the next prompt"
              onChoose={({ name }) => this.setState({ model: name })}
            />
          )}
          <button
            type="button"
            class="nb-button nb-primary"
            disabled={!text.trim()}
            title={canSend ? "Enter sends; with Alt it only adds the cell" : "Enter"}
            onClick={this.#submit}
          >
            {canSend ? "Send" : "Add cell below"}
          </button>
        </div>
      </div>
    );
  }
}
