/** A listener for a changed trait, or for a custom message with its buffers. */
export type Listener = (content: unknown, buffers?: unknown[]) => void;

/** The parts of anywidget's model that are used here: https://anywidget.dev/en/afm/ */
export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, listener: Listener): void;
  off(event: string, listener: Listener): void;
  /** What JupyterLab and Notebook 7 add: the way to the notebook of the widget. */
  widget_manager?: unknown;
}
