/** What a page that was loaded anew does itself, because what the kernel says to the cell no longer reaches it. */
import type { Model } from "../kernel/turn";
import type { Place } from "../protocol";
import type { Notebook } from "./insertCell";

/** As much of an output, and of JupyterLab's notebook model, as is used here. */
interface Output {
  data?: Record<string, unknown>;
}

interface Cell {
  id?: string;
  outputs?: Output[];
  getOutputs?(): Output[];
  setOutputs?(outputs: object[]): void;
  updateOutputs?(start: number, end: number, outputs: object[]): void;
}

interface NotebookModel {
  sharedModel?: { cells?: Cell[] };
  cells?: Iterable<{ id: string; trusted: boolean }>;
}

const VIEW = "application/vnd.jupyter.widget-view+json";
const TURN = "application/vnd.nbtool.turn+json";

/** Put the view of a turn under its cell, where the notebook was not saved since the turn began. */
export function putBack(model: Model & Notebook): void {
  const cells = cellsOf(model);
  const place = String(model.get("place"));
  const cell = cells?.find((one) => one.id && one.id === model.get("cell"));
  if (!cell || keeps(cell, model.get("turn_id")) || cells?.some((one) => find(one, place) >= 0)) return;
  for (const one of notebookOf(model)?.cells ?? []) {
    if (one.id === cell.id) one.trusted = true; // as when it runs: of what stood there before nothing is left
  }
  cell.setOutputs?.([display({ [VIEW]: { version_major: 2, version_minor: 0, model_id: place } })]);
}

/**
 * Put what stays of a turn in the places of what showed it; what finds no place of its own stands before the next.
 *
 * Says whether nothing is left to do, and nothing where the page does not know its notebook.
 */
export function leave(model: Model & Notebook, places: readonly Place[]): boolean | undefined {
  const cells = cellsOf(model);
  if (!cells) return undefined;
  let homeless: object[] = [];
  for (const { was, data } of places) {
    const cell = cells.find((one) => find(one, was) >= 0);
    const outputs = [...homeless, display(data)];
    homeless = cell ? [] : outputs;
    if (cell) replace(cell, find(cell, was), outputs);
  }
  return true;
}

/** Whether a cell has the finished turn already. */
function keeps(cell: Cell, turn: unknown): boolean {
  return outputsOf(cell).some(({ data }) => {
    const kept = data?.[TURN] as { head?: { turn_id?: unknown } } | undefined;
    return kept?.head?.turn_id === turn;
  });
}

function outputsOf(cell: Cell): Output[] {
  return cell.getOutputs?.() ?? cell.outputs ?? [];
}

/** Replace an output, and write those behind it again: JupyterLab draws what is put between others behind them. */
function replace(cell: Cell, at: number, outputs: object[]): void {
  const all = outputsOf(cell);
  cell.updateOutputs?.(at, all.length, [...outputs, ...all.slice(at + 1)]);
}

function display(data: Record<string, unknown>): object {
  return { output_type: "display_data", metadata: {}, data };
}

/** Which output of a cell shows this widget, or has this plain text. */
function find(cell: Cell, was: string): number {
  return outputsOf(cell).findIndex(({ data }) => {
    const view = data?.[VIEW] as { model_id?: unknown } | undefined;
    return Boolean(was) && (view?.model_id === was || text(data?.["text/plain"]) === was);
  });
}

/** A text as a notebook keeps it: whole, or in lines. */
function text(value: unknown): unknown {
  return Array.isArray(value) ? value.join("") : value;
}

/** The cells of the page's notebook; only JupyterLab's own widget manager knows it. */
function cellsOf(model: Model & Notebook): Cell[] | undefined {
  return notebookOf(model)?.sharedModel?.cells;
}

function notebookOf(model: Model & Notebook): NotebookModel | undefined {
  return (model.widget_manager as { context?: { model?: NotebookModel } } | undefined)?.context?.model;
}
