/** Runs cells of the page's notebook for a click: the extension of JupyterLab gives it, where there is one. */

/** A cell that failed, and what it says. */
export interface FailedCell {
  id: string;
  source: string;
}

export interface CellRunner {
  /** Run the cell with an id in the notebook of an element; return whether the page could. */
  runCell(el: Node, id: string): boolean;
  /** Return the cell of a notebook that failed in the run with a number, if it still shows its error. */
  findFailed(el: Node, number: number): FailedCell | undefined;
  /** Write another source into a cell that still has the `expected` one, and run it; return whether the page could. */
  replaceAndRun(el: Node, cell: FailedCell, source: string): boolean;
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
