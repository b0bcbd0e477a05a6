/**
 * What a notebook keeps of a running view: static text, which stands in the place of the widget for the moment of a
 * save. The page draws nothing again: JupyterLab does so for each update of a display, and takes focus and drafts.
 */
import type { Model } from "../model";
import { type Cell, contextOf, findWidget, type Output, outputsOf, WIDGET_MIME } from "./notebookModel";

/** An output in its static form, by media types. */
export type Form = Record<string, unknown>;

/** In the metadata of an output: the widget in whose place the text stands. */
export const FORM_KEY = "nbtool";

const SILENT = "silent-change";

/**
 * Put the last form into the notebook while it is saved, until the signal; return what takes a new form. Once `isOver`,
 * only in the place of the view: what comes after it is there already.
 */
export function keepForm(model: Model, signal: AbortSignal, isOver: () => boolean): (form: Form) => void {
  const context = contextOf(model);
  let form: Form | undefined;
  let replaced: Output | undefined;
  let isWritten = false;

  const onSave = (_: unknown, state: string): void => {
    const notebook = context?.model;
    const isSaved = state === "completed" && notebook?.dirty === false;
    putBack();
    if (isSaved && notebook) notebook.dirty = false; // what was put back is not a change of the person's
    if (state === "started" && !notebook?.collaborative) putForm();
  };

  /** Write the form in the place of the view, or under its cell where no output of the notebook shows it. */
  function putForm(): void {
    const place = model.get("place");
    const metadata = { [FORM_KEY]: { place } };
    const all = cells();
    for (const cell of all) {
      const at = findWidget(cell, place);
      if (at < 0) continue;
      replaced = outputsOf(cell)[at];
      const { [WIDGET_MIME]: _, ...others } = replaced?.data ?? {};
      write(cell, at, at + 1, [{ ...replaced, metadata, data: form ?? others }]);
    }
    const own = all.find(({ id }) => id && id === model.get("cell"));
    if (!own || replaced || !form || isOver()) return;
    const end = outputsOf(own).length;
    write(own, end, end, [{ output_type: "display_data", metadata, data: form }]);
  }

  function putBack(): void {
    for (const cell of cells()) {
      const at = findForm(cell, model.get("place"));
      if (at >= 0 && isWritten) write(cell, at, at + 1, replaced ? [replaced] : []);
    }
    replaced = undefined;
    isWritten = false;
  }

  function write(cell: Cell, start: number, end: number, outputs: Output[]): void {
    if (!cell.appendStreamOutput) return; // an older JupyterLab draws the output again
    cell.updateOutputs?.(start, end, outputs, SILENT);
    isWritten = true;
  }

  const cells = (): Cell[] => context?.model?.sharedModel?.cells ?? [];

  context?.saveState?.connect(onSave);
  signal.addEventListener("abort", () => {
    putBack();
    context?.saveState?.disconnect(onSave);
  });
  return (next) => {
    form = next;
  };
}

/** Return which output of a cell stands in the place of a widget; -1 where none does. */
export function findForm(cell: Cell, place: unknown): number {
  return outputsOf(cell).findIndex(({ metadata }) => {
    const kept = metadata?.[FORM_KEY] as { place?: unknown } | undefined;
    return Boolean(place) && kept?.place === place;
  });
}
