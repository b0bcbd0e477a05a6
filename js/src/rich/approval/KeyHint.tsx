/** The keys of a question and the hint that shows them. */
import type { JSX } from "preact";
import { APPROVE_KEYS, DENY_KEYS } from "../../views/approval/answers";

/** Keys as a person reads them. */
export function keysText(keys: string): string {
  return keys.replace("Control", "Ctrl");
}

/**
 * The keys of a question, visible where the focus is in it; its room is always kept, so that no button moves. Screen readers
 * get them from the buttons.
 */
export function KeyHint({ yes, no, where = "" }: KeyHintProps): JSX.Element {
  return (
    <p class="nb-muted nb-keys" aria-hidden="true">
      {where && `${where}: `}
      <kbd>{keysText(APPROVE_KEYS)}</kbd> {yes} · <kbd>{keysText(DENY_KEYS)}</kbd> {no}
    </p>
  );
}

interface KeyHintProps {
  yes: string;
  no: string;
  /** Which of several questions the keys decide. */
  where?: string;
}
