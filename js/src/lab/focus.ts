/** The focus on a turn, which is kept when JupyterLab redraws the output of its cell. */
import { focusTurn } from "../views/notebookKeys";

/**
 * Where the focus of a turn goes when JupyterLab replaces its output: to the turn's new view, and not to the page, so that
 * the keyboard goes on where it was. Every view of a turn keeps the notebook from taking its keys.
 */

/** The cell whose turn had the focus last; null once something else had it. */
let focusedCell: Element | null = null;

/** Record in which turn the focus is, from now on. */
export function recordFocus(): void {
  document.addEventListener("focusin", ({ target }) => {
    const turn = target instanceof Element ? target.closest(".nb-turn") : null;
    focusedCell = turn?.closest(".jp-Cell") ?? null;
  });
}

/** Focus the turn in an element if the former view of its cell has taken the focus with it. */
export function takeLostFocus(node: HTMLElement): void {
  if (!focusedCell?.contains(node) || document.activeElement !== document.body) return;
  focusTurn(node.querySelector<HTMLElement>(".nb-turn"));
}
