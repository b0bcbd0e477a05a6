import { Component, createRef, type JSX } from "preact";
import { counted, oneLine, seconds } from "../text/format";
import { SIGNS } from "./icons";
import { type Filter, isSet, type Line, passes } from "./listRows";
import type { Index, Version } from "./protocol";

/** Pixels that a row is high; the style sheet says the same. */
export const ROW = 30;

/** Pixels before the text of a row, where the sign stands that folds a branch away. */
const GUTTER = 24;

/** Rows that are drawn above and below what is seen. */
const SPARE = 6;

interface ListProps {
  index: Index;
  lines: Line[];
  filter: Filter;
  found: { text: string; turns: ReadonlyMap<string, string> } | null;
  open: string;
  folded: ReadonlySet<string>;
  chosen: ReadonlyMap<string, number>;
  onOpen: (turn: string) => void;
  onTurnTo: (node: string, version: number, turn: string) => void;
  onFold: (node: string) => void;
}

interface State {
  top: number;
  height: number;
}

/** The tree of turns as a list of which only what is seen is in the page. */
export class List extends Component<ListProps, State> {
  override state: State = { top: 0, height: 480 };
  #el = createRef<HTMLDivElement>();
  #name = `nb-x-${Math.random().toString(36).slice(2, 8)}`;
  #shown = "";

  override componentDidMount(): void {
    const el = this.#el.current;
    if (el?.clientHeight) this.setState({ height: el.clientHeight });
    this.#reveal();
  }

  override componentDidUpdate(before: ListProps): void {
    const isFiltered = before.filter !== this.props.filter;
    if (isFiltered && this.#el.current) this.#el.current.scrollTop = 0;
    if (isFiltered || this.#shown !== this.props.open) this.#reveal();
  }

  /** Scroll the open turn into view. */
  #reveal(): void {
    this.#shown = this.props.open;
    const [el, at] = [this.#el.current, this.#openAt()];
    if (!el || at < 0) return;
    const top = at * ROW;
    if (top < el.scrollTop) el.scrollTop = top;
    else if (top + ROW > el.scrollTop + el.clientHeight) el.scrollTop = top + ROW - el.clientHeight;
  }

  #openAt(): number {
    const { lines, open } = this.props;
    return lines.findIndex(({ row }) => row.versions.some((one) => one.turn_id === open));
  }

  #keys = (event: KeyboardEvent): void => {
    const { lines, onTurnTo } = this.props;
    const at = this.#openAt();
    const line = lines[at];
    const page = Math.max(1, Math.floor(this.state.height / ROW) - 1);
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: lines.length - 1,
    }[event.key];
    if (to !== undefined) this.#openLine(lines[Math.min(Math.max(to, 0), lines.length - 1)]);
    else if (line && event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
      const next = this.#versionAt(line) + (event.key === "ArrowLeft" ? -1 : 1);
      const version = line.row.versions[next];
      if (version) onTurnTo(line.row.node_id, next, version.turn_id);
    } else if (line?.row.branches && event.key === "ArrowLeft" && !this.#isFolded(line))
      this.props.onFold(line.row.node_id);
    else if (line?.row.branches && event.key === "ArrowRight" && this.#isFolded(line))
      this.props.onFold(line.row.node_id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  #isFolded({ row }: Line): boolean {
    return this.props.folded.has(row.node_id);
  }

  #openLine(line: Line | undefined): void {
    const version = line?.row.versions[this.#versionAt(line)];
    if (version) this.props.onOpen(version.turn_id);
  }

  /** Which version a row shows: the open one, the one that was turned to, the one found, or the one that counts. */
  #versionAt({ row }: Line): number {
    const { open, chosen, filter, found } = this.props;
    const opened = row.versions.findIndex((one) => one.turn_id === open);
    if (opened >= 0) return opened;
    const turned = chosen.get(row.node_id);
    if (turned !== undefined && row.versions[turned]) return turned;
    const hit = isSet(filter) ? row.versions.findIndex((one) => passes(one, filter, found)) : -1;
    return hit >= 0 ? hit : Math.min(row.current, row.versions.length - 1);
  }

  render(): JSX.Element {
    const { lines, open } = this.props;
    const first = Math.max(0, Math.floor(this.state.top / ROW) - SPARE);
    const last = Math.min(lines.length, Math.ceil((this.state.top + this.state.height) / ROW) + SPARE);
    const openAt = this.#openAt();
    return (
      <div
        class="nb-x-list"
        role="tree"
        aria-label="Turns"
        tabIndex={0}
        ref={this.#el}
        aria-activedescendant={openAt >= first && openAt < last ? `${this.#name}-${openAt}` : undefined}
        onKeyDown={this.#keys}
        onScroll={(event) =>
          this.setState({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })
        }
      >
        {lines.length === 0 && <p class="nb-quiet nb-x-none">No turn holds this.</p>}
        <div role="none" style={{ height: `${lines.length * ROW}px`, position: "relative" }}>
          {lines.slice(first, last).map((line, n) => this.#row(line, first + n, open))}
        </div>
      </div>
    );
  }

  #row(line: Line, at: number, open: string): JSX.Element | null {
    const { row, hides } = line;
    const number = this.#versionAt(line);
    const version = row.versions[number];
    if (!version) return null;
    const isOpen = version.turn_id === open;
    const snippet = this.props.found?.turns.get(version.turn_id);
    const isTold = passes(version, this.props.filter, null);
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the tree hears the keys
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the item that is active
      <div
        key={row.node_id}
        id={`${this.#name}-${at}`}
        role="treeitem"
        aria-level={row.depth + 1}
        aria-setsize={this.props.lines.length}
        aria-posinset={at + 1}
        aria-selected={isOpen}
        aria-expanded={row.branches ? !this.#isFolded(line) : undefined}
        class={`nb-x-row${row.line ? " nb-x-online" : ""}${isOpen ? " nb-x-open" : ""}`}
        style={{ top: `${at * ROW}px`, paddingLeft: `${GUTTER + Math.min(row.depth, 10) * 16}px` }}
        title={facts(version, snippet)}
        onClick={() => this.props.onOpen(version.turn_id)}
      >
        {row.branches && (
          <button
            type="button"
            class="nb-plain nb-x-fold"
            tabIndex={-1}
            aria-label={this.#isFolded(line) ? "Show this branch" : "Fold this branch away"}
            onClick={(event) => {
              event.stopPropagation();
              this.props.onFold(row.node_id);
            }}
          >
            {this.#isFolded(line) ? "▸" : "▾"}
          </button>
        )}
        <Sign status={version.status} />
        <span class="nb-x-said">{(isTold ? "" : snippet) || version.said || "(no text)"}</span>
        {hides > 0 && <span class="nb-quiet">+{hides}</span>}
        {row.hidden && <span class="nb-x-mark">hidden</span>}
        {row.pinned && <span class="nb-x-mark">pinned</span>}
        {version.calls > 0 && (
          <span class="nb-quiet nb-x-calls" role="img" aria-label={counted(version.calls, "call")}>
            {version.calls.toLocaleString("en")}
          </span>
        )}
        {row.versions.length > 1 && this.#versions(line, number)}
      </div>
    );
  }

  #versions({ row }: Line, number: number): JSX.Element {
    const to = (sign: string, name: string, next: number): JSX.Element => (
      <button
        type="button"
        class="nb-plain nb-x-flip"
        tabIndex={-1}
        aria-label={name}
        disabled={!row.versions[next]}
        onClick={(event) => {
          event.stopPropagation();
          const version = row.versions[next];
          if (version) this.props.onTurnTo(row.node_id, next, version.turn_id);
        }}
      >
        {sign}
      </button>
    );
    return (
      <span class="nb-x-versions">
        {to("‹", "The version before", number - 1)}
        <span role="img" aria-label={`Version ${number + 1} of ${row.versions.length}`}>
          {number + 1}/{row.versions.length}
        </span>
        {to("›", "The next version", number + 1)}
      </span>
    );
  }
}

function Sign({ status }: { status: Version["status"] }): JSX.Element {
  return (
    <span class={`nb-x-sign nb-x-is-${status}`} role="img" aria-label={status}>
      {SIGNS[status] ?? "?"}
    </span>
  );
}

function facts(version: Version, snippet: string | undefined): string {
  return [
    version.said,
    snippet && `found: ${snippet}`,
    version.model,
    version.status,
    version.seconds !== null && seconds(version.seconds),
    version.calls > 0 && counted(version.calls, "call"),
    version.tokens > 0 && counted(version.tokens, "token"),
    oneLine(version.tools.join(", "), 200),
  ]
    .filter(Boolean)
    .join("\n");
}
