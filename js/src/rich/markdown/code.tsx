import { Component, createRef, type JSX } from "preact";
import { limitStacks } from "../../text/combining";
import type { Rope } from "../../text/rope";
import { AppendOnlyText } from "../../views/AppendOnlyText";
import { Copy } from "../../views/Copy";
import { highlight } from "../highlight";

/** Characters of code that are coloured while it grows; a whole block is coloured up to `highlight`'s limit. */
const MAX_LIVE_CHARS = 4_000;

interface CodeProps {
  text: string | Rope;
  language: string;
  open: boolean;
}

/** A code block: coloured where it is whole or short; a long one only grows while it is open. */
export class Code extends Component<CodeProps> {
  override shouldComponentUpdate({ text, language, open }: CodeProps): boolean {
    const { props } = this;
    return text !== props.text || language !== props.language || open !== props.open;
  }

  render(): JSX.Element {
    const { text, language, open } = this.props;
    const highlighted =
      open && text.length > MAX_LIVE_CHARS ? null : highlight(limitStacks(`${text}`), language);
    return (
      <div class="nb-block">
        {!open && <Copy text={() => `${this.props.text}`} />}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <section class="nb-scroll" tabIndex={0} aria-label={language ? `Code, ${language}` : "Code"}>
          <pre class="nb-code" dir="ltr">
            <code>
              {highlighted ? <HighlightedNodes nodes={highlighted} /> : <AppendOnlyText text={text} />}
            </code>
          </pre>
        </section>
      </div>
    );
  }
}

/** Nodes that were made outside of the tree of components. */
class HighlightedNodes extends Component<{ nodes: Node }> {
  #el = createRef<HTMLSpanElement>();

  override componentDidMount(): void {
    this.#el.current?.replaceChildren(this.props.nodes);
  }

  override componentDidUpdate(): void {
    this.#el.current?.replaceChildren(this.props.nodes);
  }

  render(): JSX.Element {
    return <span ref={this.#el} />;
  }
}
