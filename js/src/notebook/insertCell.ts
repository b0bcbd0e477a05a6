/** Inserting a cell from a widget: below its own cell, or shown to be copied where the page cannot. */
import type { Model } from "../model";
import type { ModelChoice } from "../protocol";
import { type Cell, findWidget, type NotebookModel, notebookOf } from "./notebookModel";

/** A cell that a page has inserted, and the notebook that it is in. */
export interface PlacedCell {
  notebook: NonNullable<NotebookModel["sharedModel"]>;
  cell: Cell | undefined;
}

/**
 * The outcome of an action on a turn: requested; a cell that was inserted below, with another one above it where the
 * kernel has not loaded nbtool, or that is shown here to be copied; done, or refused, with a text that says so.
 * `placed` is the new cell, where the page can follow what becomes of it. `note` is what else the kernel said. `models` may be
 * chosen for it: `setFirstLine` writes theirs. `onLoaded` calls back once the kernel has loaded nbtool, and returns what
 * stops that.
 */
export interface InsertedCell {
  state: "requested" | "below" | "belowWithLoad" | "here" | "done" | "refused";
  text: string;
  placed?: PlacedCell | undefined;
  note?: string | undefined;
  models?: readonly ModelChoice[] | undefined;
  setFirstLine?: (line: string) => void;
  onLoaded?: (callback: () => void) => () => void;
}

/** Insert a cell below where the page can, and else have its text shown. */
export function insertOrShow(model: Model, text: string): InsertedCell {
  const placed = insertBelow(model, text);
  return { state: placed ? "below" : "here", text, placed };
}

/** Insert a cell below the one that shows this widget, without running it; return it if the page could. */
function insertBelow(model: Model, source: string): PlacedCell | undefined {
  try {
    const notebook = notebookOf(model)?.sharedModel;
    const place = model.get("place");
    const index = notebook?.cells?.findIndex((cell) => findWidget(cell, place) >= 0) ?? -1;
    if (!notebook?.insertCell || index < 0) return;
    notebook.insertCell(index + 1, { cell_type: "code", source });
    return { notebook, cell: notebook.cells?.[index + 1] };
  } catch {
    return; // a notebook model of an unknown version
  }
}
