import type { Model } from "../kernel/turn";

/** As much of JupyterLab's notebook model as is used here, where the page has one. */
interface Shared {
  cells: { getOutputs?(): unknown[]; outputs?: unknown[] }[];
  insertCell(index: number, cell: { cell_type: "code"; source: string }): unknown;
}

/** What JupyterLab and Notebook 7 add to a widget's model: the way to its notebook. */
export interface WithNotebook {
  widget_manager?: unknown;
}

/** A cell that was written: on its way, below, here to be copied, or refused with a text. */
export interface InsertedCell {
  state: "asked" | "below" | "here" | "refused";
  text: string;
}

const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** Put a cell below where the page can, and else have it shown. */
export function insertOrShow(model: Model & WithNotebook, text: string): InsertedCell {
  return { state: insertBelow(model, text) ? "below" : "here", text };
}

/**
 * Put a cell below the one that shows this widget; says whether it stands there. Nothing runs it.
 *
 * Only JupyterLab's own widget manager knows its notebook; elsewhere the text is shown, to be copied.
 */
export function insertBelow(model: Model & WithNotebook, source: string): boolean {
  try {
    const manager = model.widget_manager as { context?: { model?: { sharedModel?: Shared } } } | undefined;
    const notebook = manager?.context?.model?.sharedModel;
    const place = model.get("place");
    const at = notebook?.cells.findIndex((cell) => showsWidget(cell, place)) ?? -1;
    if (!notebook || at < 0) return false;
    notebook.insertCell(at + 1, { cell_type: "code", source });
    return true;
  } catch {
    return false; // another notebook model than those we know
  }
}

function showsWidget(cell: Shared["cells"][number], place: unknown): boolean {
  const outputs = (cell.getOutputs?.() ?? cell.outputs ?? []) as {
    data?: Record<string, { model_id?: unknown } | undefined>;
  }[];
  return outputs.some((output) => Boolean(place) && output.data?.[WIDGET_MIME]?.model_id === place);
}
