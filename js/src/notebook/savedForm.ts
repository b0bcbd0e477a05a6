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

/** Put the last form into the notebook while it is saved, until the signal; return what takes a new form. */
export function keepForm(model: Model, signal: AbortSignal): (form: Form) => void {
  const context = contextOf(model);
  let form: Form | undefined;
  let replaced: Output[] = [];

  const onSave = (_: unknown, state: string): void => {
    putBack();
    if (state === "started" && !context?.model?.collaborative) putForm();
  };

  function putForm(): void {
    const place = model.get("place");
    for (const cell of cells()) {
      const at = findWidget(cell, place);
      if (at < 0 || !cell.appendStreamOutput) continue; // an older JupyterLab draws the output again
      const shown = outputsOf(cell)[at] as Output;
      replaced.push(shown);
      const { [WIDGET_MIME]: _, ...others } = shown.data ?? {};
      write(cell, at, { ...shown, metadata: { [FORM_KEY]: { place } }, data: form ?? others });
    }
  }

  function putBack(): void {
    for (const cell of replaced.length ? cells() : []) {
      const at = findForm(cell, model.get("place"));
      if (at >= 0) write(cell, at, replaced[0] as Output);
    }
    replaced = [];
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

function write(cell: Cell, at: number, output: Output): void {
  cell.updateOutputs?.(at, at + 1, [output], SILENT);
}
