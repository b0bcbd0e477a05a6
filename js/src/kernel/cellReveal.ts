/** JupyterLab may attach only the cells in sight: the extension finds the notebook of any element, and shows its cell. */
export interface CellReveal {
  /** Return the panel of the notebook that has an element in a cell, attached or not. */
  panelOf(element: Node): HTMLElement | undefined;
  /** Return the cell that has an element, also in an output that is collapsed, which JupyterLab takes out of the cell. */
  cellOf(element: Node): HTMLElement | undefined;
  /** Scroll to the cell of an element, attach it, and show its output; headings that hide it are expanded. */
  reveal(element: Node): Promise<void>;
}

const CELL = ".jp-Cell";
const KEY = Symbol.for("nbtool.cellReveal");
const globals = globalThis as unknown as Record<symbol, CellReveal | undefined>;

/** Return what finds cells, if the extension of JupyterLab gave the page one. */
export function cellReveal(): CellReveal | undefined {
  return globals[KEY];
}

/** Give the views of the page a way to find cells. */
export function setCellReveal(reveal: CellReveal): void {
  globals[KEY] = reveal;
}

/** Return the cell around an element, attached or not. */
export function cellOf(element: HTMLElement): HTMLElement | undefined {
  return element.closest<HTMLElement>(CELL) ?? cellReveal()?.cellOf(element);
}
