/** What a reloaded page does itself, because messages of the kernel to the cell no longer reach it. */
import type { Model } from "../model";
import type { OutputReplacement } from "../protocol";
import { type Cell, findWidget, notebookOf, outputsOf, WIDGET_MIME } from "./notebookModel";
import { findForm } from "./savedForm";

const TURN_MIME = "application/vnd.nbtool.turn+json";

/** Show the view of a turn under its cell again: in the place of what was saved of it, or where nothing was saved. */
export function restoreOutput(model: Model): void {
  const cells = cellsOf(model);
  const place = String(model.get("place"));
  const view = viewOf(place);
  const saved = cells?.find((one) => findForm(one, place) >= 0);
  if (saved) {
    replaceFrom(saved, findForm(saved, place), [view]);
    return;
  }
  const cell = cells?.find((one) => one.id && one.id === model.get("cell"));
  if (
    !cell ||
    hasFinishedTurn(cell, model.get("turn_id")) ||
    cells?.some((one) => findOutput(one, place) >= 0)
  )
    return;
  for (const one of notebookOf(model)?.cells ?? []) {
    if (one.id === cell.id) one.trusted = true; // as when it runs: nothing of the old output is left
  }
  cell.setOutputs?.([view]);
}

/** Show the view of a parked turn in its cell again, whose output was cleared: the kernel cannot, after the cell. */
export function showAgain(model: Model): void {
  const place = String(model.get("place"));
  const cells = cellsOf(model) ?? [];
  const cell = cells.find((one) => one.id && one.id === model.get("cell"));
  if (!cell || cells.some((one) => findOutput(one, place) >= 0)) return;
  const end = outputsOf(cell).length;
  cell.updateOutputs?.(end, end, [viewOf(place)]);
}

/**
 * Replace the outputs that showed a turn by its saved form; one whose output is gone goes before the next.
 *
 * Return true when done, and undefined where the page does not know its notebook.
 */
export function replaceOutputs(model: Model, places: readonly OutputReplacement[]): boolean | undefined {
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
    return saved !== undefined && saved.head?.turn_id === turn;
  });
}

/** Replace an output, and add those after it again: JupyterLab renders an inserted output after the others. */
function replaceFrom(cell: Cell, at: number, outputs: object[]): void {
  const all = outputsOf(cell);
  cell.updateOutputs?.(at, all.length, [...outputs, ...all.slice(at + 1)]);
}

function viewOf(place: string): object {
  return displayData({ [WIDGET_MIME]: { version_major: 2, version_minor: 0, model_id: place } });
}

function displayData(data: Record<string, unknown>): object {
  return { output_type: "display_data", metadata: {}, data };
}

/** Return which output of a cell shows this widget, or has this plain text; -1 where none does. */
function findOutput(cell: Cell, target: string): number {
  const index = Math.max(findWidget(cell, target), findForm(cell, target));
  if (index >= 0 || !target) return index;
  return outputsOf(cell).findIndex(({ data }) => joinLines(data?.["text/plain"]) === target);
}

/** Join a text that a notebook may store as lines. */
function joinLines(value: unknown): unknown {
  return Array.isArray(value) ? value.join("") : value;
}

/** The cells of the page's notebook; only JupyterLab's own widget manager knows it. */
function cellsOf(model: Model): Cell[] | undefined {
  return notebookOf(model)?.sharedModel?.cells;
}
