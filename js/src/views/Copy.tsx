import { Component, type JSX } from "preact";

/** Milliseconds for which the button says what it has done. */
const SAID_MS = 1500;

interface CopyProps {
  text: () => string;
  label?: string;
}

/** A button that puts a text on the clipboard. */
export class Copy extends Component<CopyProps, { said: string }> {
  override state = { said: "" };
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  #copy = async (): Promise<void> => {
    const said = (await put(this.props.text())) ? "Copied" : "Not copied";
    this.setState({ said });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.setState({ said: "" }), SAID_MS);
  };

  render(): JSX.Element {
    const { label = "Copy" } = this.props;
    return (
      <button type="button" class="nb-plain nb-copy" onClick={this.#copy}>
        {this.state.said || label}
      </button>
    );
  }
}

async function put(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or a page without a secure address
  }
}
