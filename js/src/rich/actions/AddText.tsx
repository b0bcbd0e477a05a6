import { Component, createRef, type JSX } from "preact";
import { cellRunner } from "../../kernel/pageServices";
import type { PlacedCell } from "../../notebook/insertCell";
import type { LazyViews } from "../../views/LazyView";
import { MessageBox } from "../../views/text/MessageBox";

type Props = LazyViews["addition"];

interface State {
  text: string;
  /** The texts of which the kernel has not said whether it took them, by their request. */
  sent: ReadonlyMap<string, string>;
  /** Whether the last text became the next prompt. */
  isNext?: boolean;
}

/**
 * The box under a running turn: Enter adds a text, which the model gets with its next request; Alt+Enter makes it the
 * next prompt, in a cell below that runs when this one has ended.
 */
export class AddText extends Component<Props, State> {
  override state: State = { text: "", sent: new Map() };
  #root = createRef<HTMLDivElement>();
  #count = 0;
  /** The cells of the next prompts, in their order. */
  #next: PlacedCell[] = [];

  /** A text that the kernel refused is in the box again, unless another one is. */
  static getDerivedStateFromProps({ requests }: Props, { text, sent }: State): Partial<State> | null {
    const refused = [...sent].filter(([key]) => requests[key]?.state === "refused");
    if (!refused.length) return null;
    const left = new Map([...sent].filter(([key]) => requests[key]?.state !== "refused"));
    return { sent: left, text: [...refused.map(([, one]) => one), text].filter(Boolean).join("\n") };
  }

  #add = (): void => {
    const text = this.state.text.trim();
    if (!text) return;
    const key = `add ${this.#count++}`;
    this.props.connection.add?.(key, text);
    this.setState({ text: "", sent: new Map(this.state.sent).set(key, text), isNext: false });
  };

  #askNext = (): void => {
    const text = this.state.text.trim();
    const { connection, document } = this.props;
    if (!text || !connection.insertCell || !document.head.prompt_line) return;
    connection.insertCell(`${document.head.prompt_line}\n${text}`);
    const placed = connection.state().insertedCell?.placed;
    const id = placed?.cell?.id;
    if (placed) this.#moveBelowEarlier(placed);
    const isNext = Boolean(id && this.#root.current && cellRunner()?.runCell(this.#root.current, id));
    if (isNext) connection.dismissCell();
    this.setState({ text: "", isNext });
    requestAnimationFrame(() => this.#root.current?.querySelector("textarea")?.focus()); // running a cell takes it
  };

  /** Move a cell below the ones of earlier texts: they run in the order in which they stand. */
  #moveBelowEarlier(placed: PlacedCell): void {
    const { notebook, cell } = placed;
    const places = this.#next.map(
      (earlier) => notebook.cells?.findIndex(({ id }) => id === earlier.cell?.id) ?? -1,
    );
    const from = notebook.cells?.findIndex(({ id }) => id === cell?.id) ?? -1;
    const last = Math.max(-1, ...places);
    if (from >= 0 && last > from) notebook.moveCell?.(from, last);
    this.#next.push(placed);
  }

  #onEnter = ({ altKey }: { altKey: boolean }): void => {
    if (altKey) this.#askNext();
    else this.#add();
  };

  /** What is known of the texts that were sent and did not join yet. */
  #status(): string {
    const { document, requests } = this.props;
    if (this.state.isNext) return "Asked next: it runs in a cell below when this one has ended.";
    const states = [...this.state.sent.keys()].map((key) => requests[key]?.state);
    if (states.includes("noReply")) return "The kernel has not answered yet; it may be busy.";
    const joined = document.blocks.filter((block) => block.kind === "notice" && block.added).length;
    const accepted = states.filter((state) => state === "accepted").length;
    return accepted > joined ? "Added: the model gets it with its next request." : "";
  }

  render(): JSX.Element {
    const { connection, requests } = this.props;
    const { text } = this.state;
    const refusal = Object.entries(requests).find(
      ([key, { state }]) => key.startsWith("add ") && state === "refused",
    )?.[1];
    return (
      <div class="nb-add-text" ref={this.#root}>
        <MessageBox
          text={text}
          rows={1}
          maxLength={20_000}
          placeholder="Add to this turn"
          label="Add to this turn: the model gets it with its next request"
          title="Enter adds it, Shift+Enter begins a new line"
          onInput={(text) => this.setState({ text })}
          onEnter={this.#onEnter}
        />
        <button type="button" class="nb-button" disabled={!text.trim()} title="Enter" onClick={this.#add}>
          Add
        </button>
        {connection.insertCell && (
          <button
            type="button"
            class="nb-button"
            disabled={!text.trim()}
            title="A cell below with this prompt, which runs when this cell has ended (Alt+Enter)"
            onClick={this.#askNext}
          >
            Ask next
          </button>
        )}
        <span class="nb-muted" role="status">
          {refusal && "text" in refusal ? refusal.text : this.#status()}
        </span>
      </div>
    );
  }
}
