/** A diagram that the page drew: an image in SVG, its width in pixels, and what it says about itself. */
export interface Drawing {
  svg: string;
  width?: number | null | undefined;
  accessibleTitle?: string | null | undefined;
}

/** Draws the text of a Mermaid diagram with the page's own Mermaid; it rejects a text that is none. */
export type DrawDiagram = (text: string) => Promise<Drawing>;

const KEY = Symbol.for("nbtool.diagrams");
const globals = globalThis as unknown as Record<symbol, DrawDiagram | undefined>;

/** Return what draws diagrams, if the extension of JupyterLab found it. */
export function diagramDrawer(): DrawDiagram | undefined {
  return globals[KEY];
}

/** Give the views of the page what draws diagrams. */
export function setDiagramDrawer(draw: DrawDiagram | undefined): void {
  globals[KEY] = draw;
}
