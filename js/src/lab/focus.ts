/** The focus on a turn: kept for the keyboard when JupyterLab redraws its output, and given back to the cell after a click. */
import { FIELDS, focusTurn } from "../views/notebookKeys";

/**
 * Where the focus of a turn goes when JupyterLab replaces its output: to the turn's new view, and not to the page, so that
 * the keyboard goes on where it was. Every view of a turn keeps the notebook from taking its keys.
 */

/** The cell whose turn had the focus last; null once something else had it. */
let focusedCell: Element | null = null;

/** Whether the last action in a turn was a click of a pointer: its hand goes on in the notebook, not in the turn. */
let isByPointer = false;

/** The buttons that end a turn or a call, and vanish with it. */
const STOPS = ".nb-activity button, .nb-stop-call";

/** Keys with which a person acts or moves in a turn. */
const ACTING_KEYS = ["Enter", " ", "Tab"];

/** Record in which turn the focus is, and let a person leave it, from now on. */
export function recordFocus(): void {
  document.addEventListener("mousedown", leaveByClick, true);
  document.addEventListener("keydown", leaveByEscape);
  document.addEventListener("keydown", recordKey, true);
  document.addEventListener("click", recordClick, true);
  document.addEventListener("click", leaveByStop);
  document.addEventListener("focusin", ({ target }) => {
    const turn = target instanceof Element ? target.closest(".nb-turn") : null;
    const cell = turn && cellOf(turn);
    // A turn as a whole has the focus only after what had it is gone: a question that was decided, or its former view
    if (cell && target === turn && isByPointer) cell.focus({ preventScroll: true });
    else focusedCell = cell;
  });
}

function recordKey({ key, target }: KeyboardEvent): void {
  if (ACTING_KEYS.includes(key) && target instanceof Element && target.closest(".nb-turn"))
    isByPointer = false;
}

/** A click by a key has no count. */
function recordClick({ detail, target }: MouseEvent): void {
  if (target instanceof Element && target.closest(".nb-turn")) isByPointer = detail > 0;
}

/** Give the focus to the cell at a click on a button to stop. */
function leaveByStop({ target }: MouseEvent): void {
  const turn = target instanceof Element && target.closest(STOPS)?.closest(".nb-turn");
  if (turn && isByPointer) cellOf(turn)?.focus({ preventScroll: true });
}

/** Focus the turn in an element if the former view of its cell has taken the focus with it. */
export function takeLostFocus(node: HTMLElement): void {
  if (!focusedCell?.contains(node) || document.activeElement !== document.body) return;
  focusTurn(node.querySelector<HTMLElement>(".nb-turn"));
}

/**
 * Take the focus from a turn at a click on what is JupyterLab's in its cell, such as the prompt. JupyterLab keeps the
 * browser from it there, and focuses a cell itself only if nothing in the cell has the focus: see `_evtMouseDown` and
 * `_ensureFocus` in https://github.com/jupyterlab/jupyterlab/blob/main/packages/notebook/src/widget.ts
 */
function leaveByClick({ target }: MouseEvent): void {
  const focused = document.activeElement;
  const turn = focused?.closest(".nb-turn");
  if (!turn || !(target instanceof Node) || turn.contains(target)) return;
  if (focused instanceof HTMLElement && cellOf(turn)?.contains(target)) focused.blur();
}

/** Give the focus to the cell at Escape. A field, and a question, which passes no key on, have their own use for it. */
function leaveByEscape({ key, target }: KeyboardEvent): void {
  if (key !== "Escape" || !(target instanceof Element) || target.matches(FIELDS)) return;
  const turn = target.closest(".nb-turn");
  if (turn) cellOf(turn)?.focus({ preventScroll: true });
}

function cellOf(turn: Element): HTMLElement | null {
  return turn.closest<HTMLElement>(".jp-Cell");
}
