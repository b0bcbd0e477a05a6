/** What a page that was loaded anew does itself, because what the kernel says to the cell no longer reaches it. */
import type { Model } from "../kernel/turn";
import type { OutputReplacement } from "../protocol";
import type { WithNotebook } from "./insertCell";

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

const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";
const TURN_MIME = "application/vnd.nbtool.turn+json";

/** Put the view of a turn under its cell, where the notebook was not saved since the turn began. */
export function restoreOutput(model: Model & WithNotebook): void {
  const cells = cellsOf(model);
  const place = String(model.get("place"));
  const cell = cells?.find((one) => one.id && one.id === model.get("cell"));
  if (
    !cell ||
    hasFinishedTurn(cell, model.get("turn_id")) ||
    cells?.some((one) => findOutput(one, place) >= 0)
  )
    return;
  for (const one of notebookOf(model)?.cells ?? []) {
    if (one.id === cell.id) one.trusted = true; // as when it runs: of what stood there before nothing is left
  }
  cell.setOutputs?.([
    displayData({ [WIDGET_MIME]: { version_major: 2, version_minor: 0, model_id: place } }),
  ]);
}

/**
 * Put what stays of a turn in the places of what showed it; what finds no place of its own stands before the next.
 *
 * Says whether nothing is left to do, and nothing where the page does not know its notebook.
 */
export function replaceOutputs(
  model: Model & WithNotebook,
  places: readonly OutputReplacement[],
): boolean | undefined {
  const cells = cellsOf(model);
  if (!cells) return undefined;
  let pendingOutputs: object[] = [];
  for (const { was, data } of places) {
    const cell = cells.find((one) => findOutput(one, was) >= 0);
    const outputs = [...pendingOutputs, displayData(data)];
    pendingOutputs = cell ? [] : outputs;
    if (cell) replaceFrom(cell, findOutput(cell, was), outputs);
  }
  return true;
}

/** Whether a cell has the finished turn already. */
function hasFinishedTurn(cell: Cell, turn: unknown): boolean {
  return outputsOf(cell).some(({ data }) => {
    const saved = data?.[TURN_MIME] as { head?: { turn_id?: unknown } } | undefined;
    return saved?.head?.turn_id === turn;
  });
}

function outputsOf(cell: Cell): Output[] {
  return cell.getOutputs?.() ?? cell.outputs ?? [];
}

/** Replace an output, and write those behind it again: JupyterLab draws what is put between others behind them. */
function replaceFrom(cell: Cell, at: number, outputs: object[]): void {
  const all = outputsOf(cell);
  cell.updateOutputs?.(at, all.length, [...outputs, ...all.slice(at + 1)]);
}

function displayData(data: Record<string, unknown>): object {
  return { output_type: "display_data", metadata: {}, data };
}

/** Which output of a cell shows this widget, or has this plain text. */
function findOutput(cell: Cell, was: string): number {
  return outputsOf(cell).findIndex(({ data }) => {
    const view = data?.[WIDGET_MIME] as { model_id?: unknown } | undefined;
    return Boolean(was) && (view?.model_id === was || joinLines(data?.["text/plain"]) === was);
  });
}

/** A text as a notebook keeps it: whole, or in lines. */
function joinLines(value: unknown): unknown {
  return Array.isArray(value) ? value.join("") : value;
}

/** The cells of the page's notebook; only JupyterLab's own widget manager knows it. */
function cellsOf(model: Model & WithNotebook): Cell[] | undefined {
  return notebookOf(model)?.sharedModel?.cells;
}

function notebookOf(model: Model & WithNotebook): NotebookModel | undefined {
  return (model.widget_manager as { context?: { model?: NotebookModel } } | undefined)?.context?.model;
}
