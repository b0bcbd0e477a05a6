import { Component, createRef, type JSX } from "preact";
import { StackLimiter } from "../text/combining";
import type { Rope } from "../text/rope";
import type { LazyViews } from "../views/LazyView";
import { TruncationMarks } from "../views/text/Truncation";
import { type Insert, InsertCell } from "./markdown/code";
import { IncrementalMarkdown } from "./markdown/incremental";
import { withResults } from "./markdown/results";

/** Characters that are parsed in one task: a long reply is shown in parts, and the page stays responsive. */
const SLICE_CHARS = 8_192;

/** Prose of the model, as Markdown. */
export class Prose extends Component<LazyViews["prose"]> {
  #el = createRef<HTMLDivElement>();
  #markdown = new IncrementalMarkdown();
  #current: Rope | undefined;
  #unread = "";
  #limiter = new StackLimiter();
  #timer: ReturnType<typeof setTimeout> | undefined;

  override componentDidUpdate(): void {
    if (this.#unread) this.#el.current?.getBoundingClientRect(); // laid out now, so that no frame has it all to do
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  render(): JSX.Element {
    const { block, text } = this.props;
    this.#readNew(text);
    const slice = this.#unread.slice(0, SLICE_CHARS);
    this.#unread = this.#unread.slice(SLICE_CHARS);
    const isComplete = !this.#unread;
    clearTimeout(this.#timer);
    if (!isComplete) this.#timer = setTimeout(() => this.forceUpdate(), 0);
    return (
      <div ref={this.#el} class="nb-reply" aria-busy={!isComplete || block.state === "open"}>
        {block.refusal && <p class="nb-muted">The model refused:</p>}
        <InsertCell.Provider value={this.#insert()}>
          {this.#markdown.read(slice, !isComplete || block.state === "open")}
        </InsertCell.Provider>
        {isComplete && <TruncationMarks block={block} />}
      </div>
    );
  }

  /** What inserts a code block, with the lines that bind the results of this turn that it uses. */
  #insert(): Insert | undefined {
    const { connection } = this.props;
    const { insertCell } = connection ?? {};
    return insertCell && ((code, note) => insertCell(withResults(code, connection?.state().document), note));
  }

  /** Read what is new; another text is read from its start. */
  #readNew(text: Rope): void {
    const addition = text.since(this.#current);
    this.#current = text;
    if (addition === null) {
      this.#markdown = new IncrementalMarkdown();
      this.#limiter = new StackLimiter();
      this.#unread = "";
    }
    this.#unread += this.#limiter.push(addition ?? text.toString());
  }
}
