import type { JSX } from "preact";
import type { InsertedCell } from "../notebook/insertCell";
import { Copy } from "./Copy";

const STATE_TEXT: Record<InsertedCell["state"], string> = {
  requested: "Writing the cell…",
  below: "Added as a new cell below. Review, then run it.",
  here: "Copy it into a cell. Nothing has run.",
  refused: "Not possible: ",
};

/** An inserted cell: its source, its position, and that it has not run. */
export function InsertedCellNotice({ cell, close }: { cell: InsertedCell; close: () => void }): JSX.Element {
  const { state, text } = cell;
  return (
    <div class="nb-inserted-cell" role="status">
      <div class="nb-row">
        <span>
          {STATE_TEXT[state]}
          {state === "refused" && text}
        </span>
        <button type="button" class="nb-text-button" onClick={close}>
          Close
        </button>
      </div>
      {text && state !== "refused" && (
        <div class="nb-block">
          <Copy text={() => text} />
          <pre class="nb-code">{text}</pre>
        </div>
      )}
    </div>
  );
}
