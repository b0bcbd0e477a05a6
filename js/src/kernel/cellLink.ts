/** Shows a cell of the notebook that contains an element; false where it has no such cell. */
export type ShowCell = (element: Node, cell: string) => boolean;

const KEY = Symbol.for("nbtool.showCell");
const globals = globalThis as unknown as Record<symbol, ShowCell | undefined>;

/** Return what shows a cell, if the extension of JupyterLab gave the page one. */
export function cellLink(): ShowCell | undefined {
  return globals[KEY];
}

/** Give the views of the page a way to show a cell. */
export function setCellLink(show: ShowCell): void {
  globals[KEY] = show;
}
