/** The link from a call about a cell to that cell. */
import { Component, type JSX } from "preact";
import { cellLink } from "../../kernel/pageServices";
import type { CallBlock } from "../../protocol";

/** The tools of nbtool/toolsets/notebook_tools.py whose calls are about one cell. */
const CELL_TOOLS: readonly string[] = [
  "read_cell",
  "insert_cell",
  "edit_cell",
  "delete_cell",
  "move_cell",
  "run_cell",
];
const ID = /^[A-Za-z0-9_-]{1,64}$/;

/** The way from a call about a cell to that cell, where the page has a notebook. */
export class CellLink extends Component<{ block: CallBlock }, { isMissing: boolean }> {
  override state = { isMissing: false };

  render(): JSX.Element | null {
    const cell = cellOf(this.props.block);
    const show = cellLink();
    if (!cell || !show) return null;
    return (
      <p class="nb-row">
        <button
          type="button"
          class="nb-text-button"
          onClick={({ currentTarget }) => this.setState({ isMissing: !show(currentTarget, cell) })}
        >
          Go to cell
        </button>
        {this.state.isMissing && (
          <span class="nb-muted" role="status">
            The notebook no longer has this cell.
          </span>
        )}
      </p>
    );
  }
}

/** The id of the cell that a call is about: its argument, or of a new cell the one in its result. */
export function cellOf({ name, arguments: args, result }: CallBlock): string | undefined {
  if (!CELL_TOOLS.includes(name)) return undefined;
  const cell = name === "insert_cell" ? field(result) : field(args);
  return typeof cell === "string" && ID.test(cell) ? cell : undefined;
}

function field(text: string): unknown {
  try {
    return (JSON.parse(text) as { cell?: unknown } | null)?.cell;
  } catch {
    return undefined; // still being written, or not JSON
  }
}
