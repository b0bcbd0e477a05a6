/** A button that becomes a field for a name: Enter copies the branch of a turn into the chat of that name. */
import { Component, createRef, type JSX } from "preact";

interface CopyToChatProps {
  buttonClass: string;
  name(name: string): void;
}

export class CopyToChat extends Component<CopyToChatProps, { name: string | null }> {
  override state: { name: string | null } = { name: null };
  #field = createRef<HTMLInputElement>();
  #opener = createRef<HTMLButtonElement>();

  override componentDidUpdate(_: unknown, { name }: { name: string | null }): void {
    if (name === null && this.state.name !== null) this.#field.current?.focus({ preventScroll: true });
    if (name !== null && this.state.name === null) this.#opener.current?.focus({ preventScroll: true });
  }

  #close = (): void => this.setState({ name: null });

  #onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation(); // the keys around it act on cells, or on the list
    if (event.key === "Escape") this.#close();
    if (event.key !== "Enter") return;
    event.preventDefault(); // the button that comes back has the focus, and would be pressed
    this.#send();
  };

  #send = (): void => {
    const name = this.state.name?.trim();
    if (!name) return;
    this.props.name(name);
    this.#close();
  };

  render(): JSX.Element {
    const { name } = this.state;
    const { buttonClass } = this.props;
    if (name === null)
      return (
        <button
          type="button"
          class={buttonClass}
          ref={this.#opener}
          title="Copy the turns of this branch into another chat"
          onClick={() => this.setState({ name: "" })}
        >
          Copy to a chat…
        </button>
      );
    return (
      <>
        <input
          ref={this.#field}
          class="nb-reason"
          maxLength={60}
          placeholder="Name of the chat, such as other"
          aria-label="Name of the chat that gets a copy"
          value={name}
          onInput={({ currentTarget }) => this.setState({ name: currentTarget.value })}
          onKeyDown={this.#onKeyDown}
        />
        <button type="button" class={buttonClass} disabled={!name.trim()} onClick={this.#send}>
          Copy
        </button>
        <button type="button" class="nb-text-button" onClick={this.#close}>
          Cancel
        </button>
      </>
    );
  }
}
