/**
 * The explorer's list of turns: a tree of which only the visible rows are drawn, with their heights
 * and keys.
 */
import { Component, createRef, type JSX } from "preact";
import { plural, singleLine, turnSeconds } from "../text/format";
import { failedCalls, turnSign } from "./icons";
import { openRow, type RowState, searchWords, shownVersion, type VisibleRow } from "./listRows";
import type { Index, Version } from "./protocol";

/** The height of a row in pixels, as in the style sheet. */
export const ROW_HEIGHT = 30;

/** The height of a row with a second line, where the text that was found is. */
export const FOUND_ROW_HEIGHT = 48;

/** Pixels before the text of a row, for the button that folds a branch. */
const FOLD_GUTTER = 24;

/** Rows that are rendered above and below the visible ones. */
const OVERSCAN_ROWS = 6;

interface ListProps extends RowState {
  index: Index;
  rows: VisibleRow[];
  /** The numbers of turns in `%chat history`, by their rows. */
  numbers: ReadonlyMap<number, number>;
  folded: ReadonlySet<string>;
  onOpen: (turn: string) => void;
  onSelectVersion: (node: string, version: number, turn: string) => void;
  onFold: (node: string) => void;
}

interface State {
  top: number;
  height: number;
}

/** The tree of turns as a list; only visible rows are in the DOM. */
export class TurnList extends Component<ListProps, State> {
  override state: State = { top: 0, height: 480 };
  #el = createRef<HTMLDivElement>();
  #idPrefix = `nb-x-${Math.random().toString(36).slice(2, 8)}`;
  #revealed = "";

  override componentDidMount(): void {
    const el = this.#el.current;
    if (el?.clientHeight) this.setState({ height: el.clientHeight });
    this.#reveal();
  }

  override componentDidUpdate(before: ListProps): void {
    const isRefiltered = before.filter !== this.props.filter;
    if (isRefiltered && this.#el.current) this.#el.current.scrollTop = 0;
    if (isRefiltered || this.#revealed !== this.props.open) this.#reveal();
  }

  /** Scroll the open turn into view. */
  #reveal(): void {
    this.#revealed = this.props.open;
    const [el, at] = [this.#el.current, this.#openIndex()];
    if (!el || at < 0) return;
    const height = this.#rowHeight();
    const top = at * height;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (top + height > el.scrollTop + el.clientHeight) el.scrollTop = top + height - el.clientHeight;
  }

  /** The height of every row; all have a second line while the kernel's answer to a search is shown. */
  #rowHeight(): number {
    const { found, filter } = this.props;
    return found && found.text === filter.text && [...found.turns.values()].some(Boolean)
      ? FOUND_ROW_HEIGHT
      : ROW_HEIGHT;
  }

  #openIndex(): number {
    return openRow(this.props.rows, this.props);
  }

  #onKeyDown = (event: KeyboardEvent): void => {
    const { rows, onSelectVersion } = this.props;
    const at = this.#openIndex();
    const line = rows[at];
    const page = Math.max(1, Math.floor(this.state.height / this.#rowHeight()) - 1);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    }[event.key];
    if (to !== undefined) this.#openRow(rows[Math.min(Math.max(to, 0), rows.length - 1)]);
    else if (line && event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const next = this.#visibleVersion(line) + (event.key === "ArrowLeft" ? -1 : 1);
      const version = line.row.versions[next];
      if (version) onSelectVersion(line.row.node_id, next, version.turn_id);
    } else if (line?.row.branches && event.key === "ArrowLeft" && !this.#isFolded(line))
      this.props.onFold(line.row.node_id);
    else if (line?.row.branches && event.key === "ArrowRight" && this.#isFolded(line))
      this.props.onFold(line.row.node_id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  #isFolded({ row }: VisibleRow): boolean {
    return this.props.folded.has(row.node_id);
  }

  #openRow(line: VisibleRow | undefined): void {
    const version = line?.row.versions[this.#visibleVersion(line)];
    if (version) this.props.onOpen(version.turn_id);
  }

  #visibleVersion({ row }: VisibleRow): number {
    return shownVersion(row, this.props);
  }

  render(): JSX.Element {
    const { rows, open } = this.props;
    const height = this.#rowHeight();
    const first = Math.max(0, Math.floor(this.state.top / height) - OVERSCAN_ROWS);
    const last = Math.min(
      rows.length,
      Math.ceil((this.state.top + this.state.height) / height) + OVERSCAN_ROWS,
    );
    const openAt = this.#openIndex();
    return (
      <div
        class="nb-x-list"
        role="tree"
        aria-label="Turns"
        tabIndex={0}
        ref={this.#el}
        aria-activedescendant={openAt >= first && openAt < last ? `${this.#idPrefix}-${openAt}` : undefined}
        onKeyDown={this.#onKeyDown}
        onScroll={(event) =>
          this.setState({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })
        }
      >
        {rows.length === 0 && <p class="nb-muted nb-x-empty">No matching turns.</p>}
        <div role="none" style={{ height: `${rows.length * height}px`, position: "relative" }}>
          {rows.slice(first, last).map((line, n) => this.#renderRow(line, first + n, open))}
        </div>
      </div>
    );
  }

  #renderRow(line: VisibleRow, at: number, open: string): JSX.Element | null {
    const { row, hiddenRows } = line;
    const number = this.#visibleVersion(line);
    const version = row.versions[number];
    if (!version) return null;
    const isOpen = version.turn_id === open;
    const snippet = this.props.found?.turns.get(version.turn_id);
    const height = this.#rowHeight();
    const words = searchWords(this.props.filter);
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the item that is active
      <div
        key={row.node_id}
        id={`${this.#idPrefix}-${at}`}
        role="treeitem"
        aria-level={row.depth + 1}
        aria-setsize={this.props.rows.length}
        aria-posinset={at + 1}
        aria-selected={isOpen}
        aria-expanded={row.branches ? !this.#isFolded(line) : undefined}
        class={`nb-x-row${row.line ? " nb-x-active" : ""}${isOpen ? " nb-x-open" : ""}`}
        style={{
          top: `${at * height}px`,
          height: `${height}px`,
          paddingLeft: `${FOLD_GUTTER + Math.min(row.depth, 10) * 16}px`,
        }}
        title={facts(version, snippet)}
        onClick={() => this.props.onOpen(version.turn_id)}
      >
        {row.branches && (
          <button
            type="button"
            class="nb-text-button nb-x-fold"
            tabIndex={-1}
            aria-label={this.#isFolded(line) ? "Expand this branch" : "Collapse this branch"}
            onClick={(event) => {
              event.stopPropagation();
              this.props.onFold(row.node_id);
            }}
          >
            {this.#isFolded(line) ? "▸" : "▾"}
          </button>
        )}
        <StatusSign version={version} />
        <span class="nb-muted nb-x-number">{this.props.numbers.get(line.at)}</span>
        <span class="nb-x-row-text">
          <MarkedText text={fromFirstWord(version.said, words) || "(no text)"} words={words} />
          {snippet && height === FOUND_ROW_HEIGHT && (
            <small class="nb-x-found">
              <MarkedText text={snippet} words={words} />
            </small>
          )}
        </span>
        {hiddenRows > 0 && <span class="nb-muted">+{hiddenRows}</span>}
        {row.hidden && <span class="nb-x-mark">hidden</span>}
        {row.pinned && <span class="nb-x-mark">pinned</span>}
        {version.calls > 0 && (
          <span class="nb-muted nb-x-calls" role="img" aria-label={plural(version.calls, "call")}>
            {version.calls.toLocaleString("en")}
          </span>
        )}
        {row.versions.length > 1 && this.#renderVersions(line, number)}
      </div>
    );
  }

  #renderVersions({ row }: VisibleRow, number: number): JSX.Element {
    const button = (sign: string, name: string, next: number): JSX.Element => (
      <button
        type="button"
        class="nb-text-button nb-x-version-button"
        tabIndex={-1}
        aria-label={name}
        disabled={!row.versions[next]}
        onClick={(event) => {
          event.stopPropagation();
          const version = row.versions[next];
          if (version) this.props.onSelectVersion(row.node_id, next, version.turn_id);
        }}
      >
        {sign}
      </button>
    );
    return (
      <span class="nb-x-versions">
        {button("‹", "Previous version", number - 1)}
        <span role="img" aria-label={`Version ${number + 1} of ${row.versions.length}`}>
          {number + 1}/{row.versions.length}
        </span>
        {button("›", "Next version", number + 1)}
      </span>
    );
  }
}

/** Characters of a prompt that a narrow list shows, and of them before the first word that was found. */
const ROW_CHARS = 24;
const CHARS_BEFORE = 8;

/** A prompt from a little before the first of the words on, if that would be cut off at the end of a row. */
function fromFirstWord(text: string, words: string[]): string {
  const folded = text.toLowerCase();
  const [at, word] = words
    .map((one) => [folded.indexOf(one), one] as const)
    .filter(([place]) => place >= 0)
    .sort(([one], [other]) => one - other)[0] ?? [0, ""];
  return at + word.length > ROW_CHARS ? `… ${text.slice(Math.max(0, at - CHARS_BEFORE)).trimStart()}` : text;
}

/** A text in which the words of a search are marked. */
function MarkedText({ text, words }: { text: string; words: string[] }): JSX.Element {
  if (words.length === 0) return <>{text}</>;
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const pieces = text.split(new RegExp(`(${pattern})`, "giu"));
  return (
    <>
      {pieces.map((piece, n) =>
        n % 2 ? (
          <mark key={n} class="nb-x-hit">
            {piece}
          </mark>
        ) : (
          piece
        ),
      )}
    </>
  );
}

function StatusSign({ version }: { version: Version }): JSX.Element {
  const { sign, label, style } = turnSign(version);
  return (
    <span class={`nb-x-sign nb-x-is-${style}`} role="img" aria-label={label}>
      {sign}
    </span>
  );
}

/** The names of the tools that were called, and how many more there are. */
export function toolNames({ tools, more_tools: omitted = 0 }: Pick<Version, "tools" | "more_tools">): string {
  const names = singleLine(tools.join(", "), 400);
  return omitted > 0 ? `${names} and ${omitted} more` : names;
}

function facts(version: Version, snippet: string | undefined): string {
  return [
    version.said,
    snippet && `found: ${snippet}`,
    version.model,
    version.status,
    version.seconds !== null && turnSeconds(version),
    version.calls > 0 && plural(version.calls, "call"),
    failedCalls(version),
    version.tokens > 0 && plural(version.tokens, "token"),
    toolNames(version),
  ]
    .filter(Boolean)
    .join("\n");
}
