/**
 * Keep the notebook from taking keys of what has the focus, such as `d d` for itself: it asks the very element that has
 * it before those around it. See https://lumino.readthedocs.io/en/latest/api/modules/commands.html
 */
export function suppressNotebookKeys(event: FocusEvent): void {
  if (event.target instanceof Element) event.target.setAttribute("data-lm-suppress-shortcuts", "true");
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
