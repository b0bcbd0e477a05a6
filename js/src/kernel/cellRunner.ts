/** Runs cells of the page's notebook for a click: the extension of JupyterLab gives it, where there is one. */

export interface CellRunner {
  /** Run the cell with an id in the notebook of an element; return whether the page could. */
  runCell(el: Node, id: string): boolean;
}

const KEY = Symbol.for("nbtool.cellRunner");
const globals = globalThis as unknown as Record<symbol, CellRunner | undefined>;

/** Return what runs cells, if the extension of JupyterLab has given it. */
export function cellRunner(): CellRunner | undefined {
  return globals[KEY];
}

/** Give the views of the page what runs cells. */
export function setCellRunner(runner: CellRunner | undefined): void {
  globals[KEY] = runner;
}
