import { Component, createRef, type JSX } from "preact";
import type { RequestState } from "../../kernel/turn";
import type { CallBlock } from "../../protocol";
import { singleLine } from "../../text/format";
import { actionText } from "../../views/actions";

/** A Python name; the kernel checks it again, including keywords. */
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

interface Props {
  call: CallBlock;
  request: RequestState | undefined;
  bind: (call_id: string, name: string, replace: boolean) => void;
}

interface State {
  name: string | null;
  replace: boolean;
}

/** Binds a result that is kept by reference to a name in the notebook. */
export class BindResult extends Component<Props, State> {
  override state: State = { name: null, replace: false };
  #form = createRef<HTMLFormElement>();

  #open = (): void => {
    const { reference, name } = this.props.call;
    const proposed = [reference, `${name}_result`].find((one) => NAME.test(one)) ?? "";
    this.setState({ name: proposed }, () => this.#form.current?.querySelector("input")?.select());
  };

  #submit = (event: Event): void => {
    event.preventDefault();
    const { name, replace } = this.state;
    if (name !== null && NAME.test(name)) this.props.bind(this.props.call.call_id, name, replace);
  };

  render(): JSX.Element {
    const { name, replace } = this.state;
    const status = requestStatus(this.props.request, name);
    if (name === null) return <AddButton reference={this.props.call.reference} onClick={this.#open} />;
    return (
      <form
        ref={this.#form}
        class="nb-row nb-bind-row"
        onSubmit={this.#submit}
        onKeyDown={stopPropagation}
        onKeyUp={stopPropagation}
      >
        <label>
          Variable name{" "}
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
          replace an existing variable
        </label>
        <button type="submit" class="nb-button" disabled={!NAME.test(name)}>
          Bind
        </button>
        <button type="button" class="nb-text-button" onClick={() => this.setState({ name: null })}>
          Cancel
        </button>
        <span class="nb-muted" role="status">
          {status}
        </span>
      </form>
    );
  }
}

/** The button at the right of a call's row that makes its result a variable of the notebook. */
export function AddButton({ reference, onClick }: { reference: string; onClick: () => void }): JSX.Element {
  const { name, title } = actionText("bind");
  return (
    <button
      type="button"
      class="nb-text-button nb-side-button"
      aria-label={name}
      title={`${title} (${singleLine(reference, 80)})`}
      onClick={onClick}
    >
      <span class="nb-icon nb-icon-add" />
    </button>
  );
}

function requestStatus(sent: RequestState | undefined, name: string | null): string {
  if (name !== null && !NAME.test(name))
    return "A name consists of letters, digits and _, and does not begin with a digit.";
  switch (sent?.state) {
    case "sent":
      return "Sent.";
    case "accepted":
      return "Added to the notebook.";
    case "refused":
      return sent.text;
    case "noReply":
      return "The kernel has not confirmed it.";
    case undefined:
      return "";
  }
}

function stopPropagation(event: KeyboardEvent): void {
  event.stopPropagation();
}
