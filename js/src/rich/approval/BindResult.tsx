import { Component, createRef, type JSX } from "preact";
import type { Sent } from "../../kernel/turn";
import type { CallBlock } from "../../protocol";

/** A name that Python takes; the kernel looks again, at its keywords too. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

interface Props {
  call: CallBlock;
  sent: Sent | undefined;
  bind: (call_id: string, name: string, replace: boolean) => void;
}

interface State {
  name: string | null;
  replace: boolean;
}

/** Binds a result that is kept by reference to a name in the notebook. */
export class ToNotebook extends Component<Props, State> {
  override state: State = { name: null, replace: false };
  #form = createRef<HTMLFormElement>();

  #open = (): void => {
    const { reference, name } = this.props.call;
    const proposed = [reference, `${name}_result`].find((one) => NAME.test(one)) ?? "";
    this.setState({ name: proposed }, () => this.#form.current?.querySelector("input")?.select());
  };

  #send = (event: Event): void => {
    event.preventDefault();
    const { name, replace } = this.state;
    if (name !== null && NAME.test(name)) this.props.bind(this.props.call.call_id, name, replace);
  };

  render(): JSX.Element {
    const { name, replace } = this.state;
    const told = toldOf(this.props.sent, name);
    if (name === null)
      return (
        <p class="nb-row">
          <button type="button" class="nb-button" onClick={this.#open}>
            To notebook
          </button>
        </p>
      );
    return (
      <form ref={this.#form} class="nb-row" onSubmit={this.#send} onKeyDown={keep} onKeyUp={keep}>
        <label>
          Name in the notebook{" "}
          <input
            class="nb-bind"
            value={name}
            maxLength={100}
            spellcheck={false}
            aria-invalid={!NAME.test(name)}
            onInput={({ currentTarget }) => this.setState({ name: currentTarget.value })}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={replace}
            onChange={({ currentTarget }) => this.setState({ replace: currentTarget.checked })}
          />{" "}
          in place of what has that name
        </label>
        <button type="submit" class="nb-button" disabled={!NAME.test(name)}>
          Bind
        </button>
        <button type="button" class="nb-plain" onClick={() => this.setState({ name: null })}>
          Leave it
        </button>
        <span class="nb-quiet" role="status">
          {told}
        </span>
      </form>
    );
  }
}

function toldOf(sent: Sent | undefined, name: string | null): string {
  if (name !== null && !NAME.test(name)) return "A name has letters, digits and _, and begins with no digit.";
  switch (sent?.state) {
    case "sent":
      return "Sent.";
    case "taken":
      return "It is in the notebook.";
    case "refused":
      return sent.text;
    case "unheard":
      return "The kernel has not taken note of it.";
    case undefined:
      return "";
  }
}

function keep(event: KeyboardEvent): void {
  event.stopPropagation();
}
