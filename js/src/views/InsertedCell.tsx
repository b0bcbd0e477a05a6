import { Component, createRef, type JSX } from "preact";
import { cellLink } from "../kernel/pageServices";
import { followCell } from "../notebook/followCell";
import type { InsertedCell } from "../notebook/insertCell";
import type { ModelChoice } from "../protocol";
import { Copy } from "./Copy";
import { ModelSelect } from "./ModelSelect";
import { InlineCode } from "./text/InlineCode";

const STATE_TEXT: Record<InsertedCell["state"], string> = {
  requested: "Waiting for the kernel…",
  below: "Added as a new cell below. Review, then run it.",
  belowWithLoad:
    "nbtool is not loaded in this kernel: run the selected cell, `%load_ext nbtool`, first, then the new one below it.",
  here: "Copy it into a cell. Nothing has run.",
  done: "",
  refused: "Not possible:",
};

/** The states with a new cell below. */
const BELOW: ReadonlySet<InsertedCell["state"]> = new Set(["below", "belowWithLoad"]);

/** The states whose text is for the person, and not a cell. */
const WITH_TEXT: ReadonlySet<InsertedCell["state"]> = new Set(["done", "refused"]);

interface State {
  model: ModelChoice | undefined;
  /** Whether the kernel has loaded nbtool since. */
  isLoaded: boolean;
}

/** What an action on the turn did: where its cell is and that it has not run, or its outcome. */
export class InsertedCellNotice extends Component<{ cell: InsertedCell; close: () => void }, State> {
  override state: State = { model: undefined, isLoaded: false };
  #el = createRef<HTMLDivElement>();
  #unfollow = (): void => {};
  #unwatch = (): void => {};

  override componentDidMount(): void {
    this.#unwatch = this.#watchLoaded();
    this.#showPlaced();
    this.#scrollToCell();
  }

  override componentDidUpdate(previous: { cell: InsertedCell }): void {
    const { cell } = this.props;
    if (previous.cell === cell) return;
    this.setState({ model: undefined, isLoaded: false });
    this.#unwatch();
    this.#unwatch = this.#watchLoaded();
    if (previous.cell.placed !== cell.placed) this.#showPlaced();
    this.#scrollToCell();
  }

  override componentWillUnmount(): void {
    this.#unfollow();
    this.#unwatch();
  }

  /** Say that nbtool is not loaded only until it is. */
  #watchLoaded(): () => void {
    return this.props.cell.onLoaded?.(() => this.setState({ isLoaded: true })) ?? (() => {});
  }

  /** Select the new cell, and close this notice once it has run or is gone: it is no longer true then. */
  #showPlaced(): void {
    const { cell, close } = this.props;
    this.#unfollow();
    if (!cell.placed) return;
    const id = cell.placed.cell?.id;
    if (cell.state === "below" && this.#el.current && id) cellLink()?.(this.#el.current, id);
    this.#unfollow = followCell(cell.placed, close);
  }

  /** Scroll to the cell below; after the page has laid out this notice, which moves that cell. */
  #scrollToCell(): void {
    if (!BELOW.has(this.props.cell.state)) return;
    requestAnimationFrame(() => {
      const below = this.#el.current?.closest(".jp-Cell")?.nextElementSibling;
      below?.scrollIntoView({ block: "nearest" });
    });
  }

  render(): JSX.Element {
    const { cell, close } = this.props;
    const { text, note, models, setFirstLine } = cell;
    const state = this.state.isLoaded ? "below" : cell.state;
    const parts = [STATE_TEXT[state], WITH_TEXT.has(state) && text, note];
    return (
      <div class="nb-inserted-cell" role="status" ref={this.#el}>
        <div class="nb-row">
          <span>
            <InlineCode text={parts.filter(Boolean).join(" ")} />
          </span>
          {models?.[0] && setFirstLine && (
            <ModelSelect
              models={models}
              chosen={this.state.model}
              label="Model of this cell"
              onChoose={(model) => {
                setFirstLine(model.magic);
                this.setState({ model });
              }}
            />
          )}
          <button type="button" class="nb-text-button" onClick={close}>
            Close
          </button>
        </div>
        {state === "here" && (
          <div class="nb-block">
            <span class="nb-block-actions">
              <Copy text={() => text} />
            </span>
            <pre class="nb-code">{text}</pre>
          </div>
        )}
      </div>
    );
  }
}
