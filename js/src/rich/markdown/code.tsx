/** Code blocks of a reply, with their buttons to copy them and to insert them as a cell. */
import { Component, createContext, createRef, type JSX } from "preact";
import { diagramDrawer } from "../../kernel/pageServices";
import type { Connection } from "../../kernel/turn";
import { limitStacks } from "../../text/combining";
import { escapeInvisible } from "../../text/format";
import type { Rope } from "../../text/rope";
import { Copy } from "../../views/Copy";
import { AppendOnlyText } from "../../views/text/AppendOnlyText";
import { highlight } from "../highlight";
import { Diagram } from "./Diagram";

/** Characters of code that are coloured while it grows; a whole block is coloured up to `highlight`'s limit. */
const MAX_LIVE_CHARS = 4_000;

/** Languages of code blocks that fit into a cell: Python, and what does not say. */
const CELL_LANGUAGES = new Set(["", "py", "python", "python3", "ipython", "ipython3"]);

export type Insert = NonNullable<Connection["insertCell"]>;

/** Inserts a code block as a cell; nothing where the page cannot, or where the code is none of a reply. */
export const InsertCell = createContext<Insert | undefined>(undefined);

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
    const isDiagram = language === "mermaid" && !open && diagramDrawer() !== undefined;
    return isDiagram ? <Diagram text={`${text}`}>{this.#renderCode()}</Diagram> : this.#renderCode();
  }

  #renderCode(): JSX.Element {
    const { text, language, open } = this.props;
    const highlighted =
      open && text.length > MAX_LIVE_CHARS ? null : highlight(limitStacks(`${text}`), language);
    return (
      <div class="nb-block">
        {!open && (
          <span class="nb-block-actions">
            <Copy text={() => `${this.props.text}`}>
              <span class="nb-icon nb-icon-copy" />
            </Copy>
            {CELL_LANGUAGES.has(language) && <InsertButton text={text} />}
          </span>
        )}
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

/** The button that inserts a code block as a cell. */
function InsertButton({ text }: { text: string | Rope }): JSX.Element {
  return (
    <InsertCell.Consumer>
      {(insert) =>
        insert && (
          <button
            type="button"
            class="nb-text-button"
            aria-label="Insert as cell"
            title="Insert as cell: a new cell below, which has not run"
            onClick={() => insertVisible(insert, `${text}`)}
          >
            <span class="nb-icon nb-icon-insert" />
          </button>
        )
      }
    </InsertCell.Consumer>
  );
}

/** Insert a code with its invisible characters as escapes, and say so: nothing of it may hide from who reviews it. */
function insertVisible(insert: Insert, text: string): void {
  const visible = escapeInvisible(text);
  insert(visible, visible === text ? undefined : "Invisible characters in it are written as escapes.");
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
