/** JupyterLab's notebook model, from a widget: only its own widget manager has it. ../lab reads it from the panel. */
import type { Model } from "../model";

/** A signal of Lumino: https://lumino.readthedocs.io/en/latest/api/interfaces/signaling.ISignal.html */
export interface Signal {
  connect(listener: () => void): void;
  disconnect(listener: () => void): void;
}

/** The parts of an output that are used here. */
export interface Output {
  output_type?: string;
  data?: Record<string, unknown>;
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
  updateOutputs?(start: number, end: number, outputs: object[]): void;
}

export interface NotebookModel {
  sharedModel?: {
    readonly changed?: Signal;
    cells?: Cell[];
    insertCell?(index: number, cell: { cell_type: string; source: string }): unknown;
    deleteCell?(index: number): void;
    moveCell?(from: number, to: number): void;
  };
  cells?: Iterable<{ id: string; trusted: boolean }>;
}

export const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** Return the notebook that shows a widget; undefined where the page does not know it. */
export function notebookOf(model: Model): NotebookModel | undefined {
  return (model.widget_manager as { context?: { model?: NotebookModel } } | undefined)?.context?.model;
}

/** Return the outputs of a cell. */
export function outputsOf(cell: Cell): Output[] {
  return cell.getOutputs?.() ?? cell.outputs ?? [];
}

/** Return which output of a cell shows a widget, by the id of its model; -1 where none does. */
export function findWidget(cell: Cell, modelId: unknown): number {
  return outputsOf(cell).findIndex(({ data }) => {
    const view = data?.[WIDGET_MIME] as { model_id?: unknown } | undefined;
    return Boolean(modelId) && view?.model_id === modelId;
  });
}
