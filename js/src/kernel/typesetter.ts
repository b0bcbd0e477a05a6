/**
 * Sets a formula in an element with the page's own typesetter, when it is seen; what it shows until then stays if that
 * fails, and if the formula is empty. It gets plain notation only.
 */
export type Typesetter = (element: HTMLElement, tex: string, display: boolean) => void;

const KEY = Symbol.for("nbtool.typesetter");
const globals = globalThis as unknown as Record<symbol, Typesetter | undefined>;

/** Return the page's typesetter, if the extension of JupyterLab found one. */
export function typesetter(): Typesetter | undefined {
  return globals[KEY];
}

/** Give the views of the page a typesetter. */
export function setTypesetter(typeset: Typesetter): void {
  globals[KEY] = typeset;
}
