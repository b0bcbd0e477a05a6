import { Component, type ComponentChildren, type JSX } from "preact";

/** Milliseconds for which the button shows its success. */
const STATUS_MS = 1500;

/** What came of it, and its sign where the button is an icon, so that nothing beside it moves. */
const STATUS_SIGNS = { Copied: "✓", "Not copied": "✕" };

type Status = keyof typeof STATUS_SIGNS;

interface CopyProps {
  text: () => string;
  label?: string;
  /** What is drawn in place of the label, which is then the tooltip; a sign as wide replaces it for a moment. */
  children?: ComponentChildren;
}

/** A button that copies a text to the clipboard. */
export class Copy extends Component<CopyProps, { status: Status | "" }> {
  override state: { status: Status | "" } = { status: "" };
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  #copy = async (): Promise<void> => {
    const status = (await writeClipboard(this.props.text())) ? "Copied" : "Not copied";
    this.setState({ status });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.setState({ status: "" }), STATUS_MS);
  };

  render(): JSX.Element {
    const { label = "Copy", children } = this.props;
    const { status } = this.state;
    return (
      <button
        type="button"
        class="nb-text-button nb-copy"
        {...(children && { "aria-label": status || label, title: status || label })}
        onClick={this.#copy}
      >
        {children && status ? STATUS_SIGNS[status] : status || children || label}
      </button>
    );
  }
}

async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or a page without a secure address
  }
}
