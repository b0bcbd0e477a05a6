/** JupyterLab's notebook model, from a widget: only its own widget manager has it. ../lab reads it from the panel. */
import type { Model } from "../model";

/** A signal of Lumino: https://lumino.readthedocs.io/en/latest/api/interfaces/signaling.ISignal.html */
export interface Signal<L = () => void> {
  connect(listener: L): void;
  disconnect(listener: L): void;
}

/** The parts of an output that are used here. */
export interface Output {
  output_type?: string;
  data?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
  text?: string | string[];
  ename?: string;
  evalue?: string;
  traceback?: string[];
}

/** The parts of a cell of the shared model that are used here; its methods depend on JupyterLab's version. */
export interface Cell {
  id?: string;
  cell_type?: string;
  execution_count?: number | null;
  /** Since JupyterLab 4.3. */
  executionState?: string;
  readonly changed?: Signal;
  outputs?: Output[];
  undoManager?: { stopCapturing?(): void } | null;
  getSource?(): string;
  setSource?(source: string): void;
  updateSource?(start: number, end: number, text: string): void;
  getMetadata?(key: string): unknown;
  toJSON?(): Record<string, unknown>;
  getOutputs?(): Output[];
  setOutputs?(outputs: object[]): void;
  /** With the origin "silent-change" the page draws nothing again. */
  updateOutputs?(start: number, end: number, outputs: object[], origin?: string): void;
  /** Since the versions whose `updateOutputs` has an origin. */
  appendStreamOutput?: unknown;
}

export interface NotebookModel {
  /** Whether the notebook has changes that are not saved. */
  dirty?: boolean;
  /** Whether the server writes the file, from what all pages share. */
  collaborative?: boolean;
  sharedModel?: {
    readonly changed?: Signal;
    cells?: Cell[];
    insertCell?(index: number, cell: { cell_type: string; source: string }): unknown;
    deleteCell?(index: number): void;
    moveCell?(from: number, to: number): void;
  };
  cells?: Iterable<{ id: string; trusted: boolean }>;
}

/** The document of a notebook: its model, and the saving of it. */
export interface NotebookContext {
  /** The path of the file, on its drive. */
  path?: string;
  model?: NotebookModel;
  saveState?: Signal<(sender: unknown, state: string) => void>;
}

export const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** Return the document that shows a widget; undefined where the page does not know it. */
export function contextOf(model: Model): NotebookContext | undefined {
  return (model.widget_manager as { context?: NotebookContext } | undefined)?.context;
}

/** Return the notebook that shows a widget; undefined where the page does not know it. */
export function notebookOf(model: Model): NotebookModel | undefined {
  return contextOf(model)?.model;
}

/** Return the outputs of a cell. */
export function outputsOf(cell: Cell): Output[] {
  return cell.getOutputs?.() ?? cell.outputs ?? [];
}

/** Return which output of a cell shows a widget, by the id of its model; -1 where none does. */
export function findWidget(cell: Cell, modelId: unknown): number {
  return outputsOf(cell).findIndex((output) => Boolean(modelId) && shownWidget(output) === modelId);
}

/** Return the id of the widget that an output shows. */
function shownWidget({ data }: Output): unknown {
  return (data?.[WIDGET_MIME] as { model_id?: unknown } | undefined)?.model_id;
}
