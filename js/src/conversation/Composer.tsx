import { Component, type JSX, type TargetedKeyboardEvent } from "preact";

/** The box to go on in: what is written there becomes a cell below, which the person runs. */
export class Say extends Component<{ say: (text: string) => void }, { text: string }> {
  override state = { text: "" };

  #send = (): void => {
    const text = this.state.text.trim();
    if (!text) return;
    this.props.say(text);
    this.setState({ text: "" });
  };

  #press = (event: TargetedKeyboardEvent<HTMLTextAreaElement>): void => {
    event.stopPropagation();
    if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.#send();
  };

  render(): JSX.Element {
    const { text } = this.state;
    return (
      <div class="nb-say">
        <textarea
          rows={2}
          maxLength={100_000}
          placeholder="Go on: what you write becomes a cell below"
          aria-label="Go on: what you write becomes a cell below"
          data-lm-suppress-shortcuts="true"
          value={text}
          onInput={({ currentTarget }) => this.setState({ text: currentTarget.value })}
          onKeyDown={this.#press}
        />
        <button type="button" class="nb-button nb-yes" disabled={!text.trim()} onClick={this.#send}>
          Put below
        </button>
      </div>
    );
  }
}
