/** What the page itself draws of a result: the extension of JupyterLab gives it, where there is one. */
import type { DisplayData } from "../protocol";

export interface OutputDrawer {
  /**
   * Draw a result in an element that is on the page, if it runs nothing and fetches nothing; give what removes it, and
   * null where it is not drawn.
   */
  draw(el: HTMLElement, display: DisplayData): Promise<(() => void) | null>;
  /** Make a result an ordinary output of the cell of an element, after the others; return whether the page could. */
  addOutput(el: Node, display: DisplayData): boolean;
}

const KEY = Symbol.for("nbtool.outputDrawer");
const globals = globalThis as unknown as Record<symbol, OutputDrawer | undefined>;

/** Return the page's drawer of results, if the extension of JupyterLab has given one. */
export function outputDrawer(): OutputDrawer | undefined {
  return globals[KEY];
}

/** Give the views of the page a drawer of results. */
export function setOutputDrawer(drawer: OutputDrawer | undefined): void {
  globals[KEY] = drawer;
}
