/** The parts of JupyterLab's objects that are used here: https://jupyterlab.readthedocs.io/en/stable/api/ */
import type { Cell, Signal } from "../notebook/notebookModel";

/** One output of a notebook, with all forms of it. */
export interface MimeModel {
  readonly data: Readonly<Record<string, unknown>>;
  readonly trusted: boolean;
  readonly metadata?: Readonly<Record<string, unknown>>;
  setData?(options: object): void;
}

/** Lumino's widget: https://lumino.readthedocs.io/en/latest/api/classes/widgets.Widget.html */
export interface Widget {
  readonly node: HTMLElement;
  readonly isDisposed: boolean;
  layout: Layout | null;
  dispose(): void;
}

export interface Layout {
  addWidget(widget: Widget): void;
}

export interface Renderer extends Widget {
  renderModel(model: MimeModel): Promise<void>;
}

export interface RendererFactory {
  safe: boolean;
  mimeTypes: readonly string[];
  defaultRank: number;
  createRenderer(options: unknown): Renderer;
}

/** JupyterLab's typesetter of formulas; null where it has none. */
export interface LatexTypesetter {
  typeset(element: HTMLElement): Promise<void> | void;
}

/** JupyterLab's manager of Mermaid diagrams; it loads Mermaid when the first one is drawn. */
export interface MermaidManager {
  renderSvg(text: string): Promise<{
    svg: string;
    width?: number | null;
    accessibleTitle?: string | null;
  }>;
}

export interface RenderMime {
  readonly latexTypesetter?: LatexTypesetter | null;
  addFactory(factory: RendererFactory): void;
  createRenderer(mimeType: string): Renderer;
  preferredMimeType(bundle: object, safe: "ensure" | "prefer" | "any"): string | undefined;
}

export interface CellWidget {
  readonly node: HTMLElement;
  /** Of a code cell; its node is not in the cell's while the output is collapsed. */
  readonly outputArea?: { readonly node: HTMLElement };
  outputHidden?: boolean;
  /** Whether a collapsed heading above hides it. */
  readonly isHidden?: boolean;
  /** Of a cell of Markdown whose first line is a heading. */
  headingCollapsed?: boolean;
  readonly model?: { getMetadata?(key: string): unknown };
}

/** A channel to code in the kernel that was registered under a target. */
export interface Comm {
  readonly isDisposed?: boolean;
  onMsg: ((message: { content: { data: unknown } }) => void) | undefined;
  onClose: (() => void) | undefined;
  open(data: object): unknown;
  send?(data: object): unknown;
  close(): unknown;
}

/** The message that opens a comm; its parent is the request during which the kernel opened it. */
export interface CommOpen {
  parent_header: object;
  content: { data: unknown };
}

/** A message for all clients of a kernel; its parent is the request that it came of. */
export interface IopubMessage {
  header: { msg_type: string };
  parent_header: { msg_type?: string };
  content: { execution_state?: string; code?: string };
}

/** Emits every message of a kernel that is for all clients. */
interface IopubSignal {
  connect(listener: (sender: unknown, message: IopubMessage) => void): void;
  disconnect(listener: (sender: unknown, message: IopubMessage) => void): void;
}

/** A kernel: https://jupyter-client.readthedocs.io/en/stable/messaging.html#introspection describes its answers. */
export interface Kernel {
  readonly connectionStatus: string;
  readonly status: string;
  requestInspect(content: {
    code: string;
    cursor_pos: number;
    detail_level: 0 | 1;
  }): Promise<{ content: { status: string; found?: boolean } }>;
  readonly clientId?: string;
  readonly iopubMessage?: IopubSignal;
  createComm?(target: string): Comm;
  registerCommTarget?(target: string, onOpen: (comm: Comm, message: CommOpen) => void): void;
}

export interface SessionContext {
  readonly session: {
    readonly kernel: Kernel | null;
  } | null;
  /** Of the kernel of now, also after another one was chosen. */
  readonly iopubMessage?: IopubSignal;
  readonly kernelChanged: Signal;
  readonly connectionStatusChanged: Signal;
  readonly statusChanged: Signal;
}

/** One cell of the document; the methods of its outputs are those of a code cell. */
export interface SharedCell extends Cell {
  getSource(): string;
  setSource(source: string): void;
  getOutputs?(): { data?: Record<string, unknown> }[];
  updateOutputs?(start: number, end: number, outputs: object[]): void;
}

export interface SharedModel {
  readonly changed?: Signal;
  readonly cells?: Cell[];
  getCell(at: number): SharedCell;
  insertCell(at: number, cell: object): unknown;
}

export interface NotebookPanel {
  readonly node: HTMLElement;
  readonly sessionContext: SessionContext;
  readonly context?: { readonly path?: string };
  readonly content: {
    readonly widgets: readonly CellWidget[];
    readonly rendermime?: RenderMime;
    readonly model: { readonly sharedModel: SharedModel } | null;
    activeCellIndex: number;
    mode: "command" | "edit";
    scrollToItem?(index: number): Promise<void>;
  };
}

export interface NotebookTracker {
  find(matches: (panel: NotebookPanel) => boolean): NotebookPanel | undefined;
  forEach?(visit: (panel: NotebookPanel) => void): void;
  readonly widgetAdded?: { connect(listener: (tracker: unknown, panel: NotebookPanel) => void): void };
}

/** The shared JupyterLab modules, of which the page has one instance each. */
export interface SharedModules {
  Widget: (new () => Widget) & { attach?(widget: Widget, host: HTMLElement): void };
  PanelLayout: new () => Layout;
  /** Of JupyterLab 4.1 and newer. */
  NotebookActions?: {
    runCells?(content: unknown, cells: readonly CellWidget[], sessionContext: unknown): Promise<boolean>;
  };
  IRenderMimeRegistry: object;
  INotebookTracker: object;
}

/** What a renderer of nbtool draws with, and finds its notebook by. */
export interface RendererContext {
  shared: SharedModules;
  rendermime: RenderMime;
  tracker: NotebookTracker | null;
}
