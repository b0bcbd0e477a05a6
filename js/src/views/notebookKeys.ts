/**
 * Keys that are pressed in a turn: the notebook takes none of them, and JupyterLab the shortcuts that act on no cell.
 */
import type { TargetedKeyboardEvent } from "preact";

/** What is JupyterLab's around a notebook; no shortcut that acts on cells matches this element. */
const OUTER_PANEL = ".jp-MainAreaWidget";

const SUPPRESS = "data-lm-suppress-shortcuts";

/** Fields in which a person writes; their keys for undo and the clipboard are their own. */
export const FIELDS = "input, textarea, select, [contenteditable]";

/** The props of an element that keeps its keys from the notebook, and passes on JupyterLab's other shortcuts. */
export const KEY_PROPS = {
  [SUPPRESS]: "true",
  onFocusCapture: suppressNotebookKeys,
  onKeyDownCapture: passShortcut,
  /** JupyterLab would refuse undo, redo and line breaks to a field in a notebook: it listens on the field itself. */
  onBeforeInputCapture: (event: Event) => event.stopPropagation(),
};

/**
 * Keep the notebook from taking keys of what has the focus, such as `d d` for itself: it asks the very element that has
 * it before those around it. See https://lumino.readthedocs.io/en/latest/api/modules/commands.html
 */
function suppressNotebookKeys({ target }: FocusEvent): void {
  if (target instanceof Element) target.setAttribute(SUPPRESS, "true");
}

/**
 * Press a shortcut such as Ctrl+S once more on the panel around the notebook. The selectors of the shortcuts that act on
 * cells name the notebook or what is in it, so that only the others can match there.
 */
function passShortcut(event: TargetedKeyboardEvent<HTMLElement>): void {
  const { currentTarget } = event;
  if (currentTarget.parentElement?.closest(`[${SUPPRESS}]`) || !isShortcut(event)) return;
  const isUnused =
    currentTarget.closest(OUTER_PANEL)?.dispatchEvent(new KeyboardEvent("keydown", event)) ?? true;
  if (isUnused) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether a key may be a shortcut: neither typed text nor one that a turn or its field has a use for. */
function isShortcut(event: KeyboardEvent): boolean {
  const { key, target, altKey, shiftKey } = event;
  const hasControl = event.ctrlKey || event.metaKey;
  if (key === "Enter" || event.getModifierState("AltGraph")) return false;
  const isField = target instanceof Element && target.matches(FIELDS);
  if (isField && hasControl && !altKey && !shiftKey && /^[acvxyz]$/i.test(key)) return false;
  return hasControl || altKey || /^F\d/.test(key);
}

/** Stop the propagation of keys: outer listeners must not treat them as commands. */
export function stopKeyPropagation(event: KeyboardEvent): void {
  event.stopPropagation();
}

/** Focus a turn as a whole. It can have the focus only until it loses it: a click on a text belongs to the notebook. */
export function focusTurn(turn: HTMLElement | null | undefined): void {
  if (!turn) return;
  turn.tabIndex = -1;
  turn.addEventListener("blur", () => turn.removeAttribute("tabindex"), { once: true });
  turn.focus({ preventScroll: true });
}
