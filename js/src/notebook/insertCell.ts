import type { Model } from "../model";
import type { ModelChoice } from "../protocol";
import { findWidget, notebookOf } from "./notebookModel";

/**
 * The outcome of an action on a turn: requested; a cell that was inserted below, with another one above it where the
 * kernel has not loaded nbtool, or that is shown here to be copied; done, or refused, with a text that says so.
 * `note` is what else the kernel said. `models` may be chosen for it: `setFirstLine` writes theirs.
 */
export interface InsertedCell {
  state: "requested" | "below" | "belowWithLoad" | "here" | "done" | "refused";
  text: string;
  note?: string | undefined;
  models?: readonly ModelChoice[] | undefined;
  setFirstLine?: (line: string) => void;
}

/** Insert a cell below where the page can, and else have its text shown. */
export function insertOrShow(model: Model, text: string): InsertedCell {
  return { state: insertBelow(model, text) ? "below" : "here", text };
}

/** Insert a cell below the one that shows this widget, without running it. Return whether the page could. */
export function insertBelow(model: Model, source: string): boolean {
  try {
    const notebook = notebookOf(model)?.sharedModel;
    const place = model.get("place");
    const index = notebook?.cells?.findIndex((cell) => findWidget(cell, place) >= 0) ?? -1;
    if (!notebook?.insertCell || index < 0) return false;
    notebook.insertCell(index + 1, { cell_type: "code", source });
    return true;
  } catch {
    return false; // a notebook model of an unknown version
  }
}
