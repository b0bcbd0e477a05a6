import { Component, type JSX, type TargetedKeyboardEvent } from "preact";
import type { ModelChoice } from "../generated";
import { ModelSelect } from "../views/ModelSelect";

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

  #onKeyDown = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    event.stopPropagation();
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    if (!event.repeat) this.#submit(event);
  };

  render(): JSX.Element {
    const { text } = this.state;
    const { models, canSend } = this.props;
    const what = canSend ? "Continue the chat" : "Continue the chat: your text becomes a new cell below";
    return (
      <div class="nb-composer">
        <textarea
          rows={2}
          maxLength={100_000}
          placeholder={`${what} (Shift+Enter: new line)`}
          aria-label={what}
          data-lm-suppress-shortcuts="true"
          value={text}
          onInput={({ currentTarget }) => this.setState({ text: currentTarget.value })}
          onKeyDown={this.#onKeyDown}
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

/** Whether Enter belongs to an input method that composes a character; Safari tells it by the code alone. */
function isComposing(event: TargetedKeyboardEvent<HTMLTextAreaElement>): boolean {
  return event.isComposing || event.keyCode === 229;
}
