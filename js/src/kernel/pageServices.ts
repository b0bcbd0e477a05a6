/**
 * What the extension of JupyterLab gives the views of the page, where there is one. Each view has a script of its own, so
 * these are kept in the page.
 */
import type { DisplayData } from "../protocol";

/** Shows a cell of the notebook that contains an element; false where it has no such cell. */
export type ShowCell = (element: Node, cell: string) => boolean;

/** JupyterLab may attach only the cells in sight: the extension finds the notebook of any element, and shows its cell. */
export interface CellReveal {
  /** Return the panel of the notebook that has an element in a cell, attached or not. */
  panelOf(element: Node): HTMLElement | undefined;
  /** Return the cell that has an element, also in an output that is collapsed, which JupyterLab takes out of the cell. */
  cellOf(element: Node): HTMLElement | undefined;
  /** Scroll to the cell of an element, attach it, and show its output; headings that hide it are expanded. */
  reveal(element: Node): Promise<void>;
}

/** A cell that failed, and what it says. */
export interface FailedCell {
  id: string;
  source: string;
}

/** Runs cells of the page's notebook for a click. */
export interface CellRunner {
  /** Run the cell with an id in the notebook of an element; return whether the page could. */
  runCell(el: Node, id: string): boolean;
  /** Return the cell of a notebook that failed in the run with a number, if it still shows its error. */
  findFailed(el: Node, number: number): FailedCell | undefined;
  /** Write another source into a cell that still has the `expected` one, and run it; return whether the page could. */
  replaceAndRun(el: Node, cell: FailedCell, source: string): boolean;
}

/**
 * Sets a formula in an element with the page's own typesetter, when it is seen; what it shows until then stays if that
 * fails, and if the formula is empty. It gets plain notation only.
 */
export type Typesetter = (element: HTMLElement, tex: string, display: boolean) => void;

/** A diagram that the page drew: an image in SVG, its width in pixels, and what it says about itself. */
export interface Drawing {
  svg: string;
  width?: number | null | undefined;
  accessibleTitle?: string | null | undefined;
}

/** Draws the text of a Mermaid diagram with the page's own Mermaid; it rejects a text that is none. */
export type DrawDiagram = (text: string) => Promise<Drawing>;

/** What the page itself draws of a result. */
export interface OutputDrawer {
  /**
   * Draw a result in an element that is on the page, if it runs nothing and fetches nothing; give what removes it, and
   * null where it is not drawn.
   */
  draw(el: HTMLElement, display: DisplayData): Promise<(() => void) | null>;
  /** Make a result an ordinary output of the cell of an element, after the others; return whether the page could. */
  addOutput(el: Node, display: DisplayData): boolean;
}

export const [cellLink, setCellLink] = pageService<ShowCell>("showCell");
export const [cellReveal, setCellReveal] = pageService<CellReveal>("cellReveal");
export const [cellRunner, setCellRunner] = pageService<CellRunner>("cellRunner");
export const [typesetter, setTypesetter] = pageService<Typesetter>("typesetter");
export const [diagramDrawer, setDiagramDrawer] = pageService<DrawDiagram>("diagrams");
export const [outputDrawer, setOutputDrawer] = pageService<OutputDrawer>("outputDrawer");

/** Return the cell around an element, attached or not. */
export function cellOf(element: HTMLElement): HTMLElement | undefined {
  return element.closest<HTMLElement>(".jp-Cell") ?? cellReveal()?.cellOf(element);
}

/** Return what gets a service, undefined where the extension gave none, and what gives it. */
function pageService<T>(name: string): [get: () => T | undefined, set: (service: T | undefined) => void] {
  const key = Symbol.for(`nbtool.${name}`);
  const globals = globalThis as unknown as Record<symbol, T | undefined>;
  return [
    () => globals[key],
    (service) => {
      globals[key] = service;
    },
  ];
}
