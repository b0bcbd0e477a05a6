/** The keys of a question and the hint that shows them. */
import type { JSX } from "preact";

/** The keys of a question, as in `aria-keyshortcuts`; Cmd counts as Ctrl. */
export const APPROVE_KEYS = "Control+Enter";
export const DENY_KEYS = "Control+Shift+Enter";

/**
 * The keys of a question, visible where the focus is in it; its room is always kept, so that no button moves. Screen readers
 * get them from the buttons.
 */
export function KeyHint({ yes, no, where = "" }: KeyHintProps): JSX.Element {
  return (
    <p class="nb-muted nb-keys" aria-hidden="true">
      {where && `${where}: `}
      <kbd>Ctrl+Enter</kbd> {yes} · <kbd>Ctrl+Shift+Enter</kbd> {no}
    </p>
  );
}

interface KeyHintProps {
  yes: string;
  no: string;
  /** Which of several questions the keys decide. */
  where?: string;
}
