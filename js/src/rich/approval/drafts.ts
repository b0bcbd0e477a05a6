import type { Decision } from "../../protocol";
import { plural } from "../../text/format";
import { MAX_UNOPENED_CHARS, type PendingCall } from "../../views/approval/pending";

/** What a person has done about one question so far, and not yet sent. */
export interface Draft {
  /** All that is asked about was in view: what is long was opened. */
  isOpened: boolean;
  /** The end of the question was on the screen. */
  isSeen: boolean;
  /** Whether the editor is open. */
  isEditing: boolean;
  /** What takes the place of what was asked about: arguments as JSON, or the text of a result. */
  text: string | null;
  /** Why that cannot be sent, by argument. */
  problems: Record<string, string>;
  remember: "" | "call" | "tool";
  reason: string;
  /** The text as it was when it was agreed to; missing where it was not. */
  sentText?: string | null;
}

/** A draft in which nothing was done. */
export const EMPTY_DRAFT: Draft = {
  isOpened: false,
  isSeen: false,
  isEditing: false,
  text: null,
  problems: {},
  remember: "",
  reason: "",
};

/** Characters of one text field: a browser takes too long to lay out and edit more of mixed scripts. */
export const MAX_FIELD_CHARS = 30_000;

/** The message in place of a field for a longer text. */
export function tooLongToEdit(length: number): string {
  return `${plural(length, "character")}: too long to edit here. The limit is ${plural(MAX_FIELD_CHARS, "character")}.`;
}

/** How much there is to read before one can agree. */
export function contentLength({ question }: PendingCall): number {
  return question.shown.length + (question.effect?.length ?? 0) + (question.notice?.length ?? 0);
}

/** Whether all of a question is in view as it stands. */
export function isReadable(call: PendingCall, draft: Draft): boolean {
  return draft.isOpened || contentLength(call) <= MAX_UNOPENED_CHARS;
}

/** Whether something else than what was asked about would be sent. */
export function isEdited({ question }: PendingCall, { text }: Draft): boolean {
  return text !== null && text !== question.shown;
}

/** The decision that lets a call run, or its result out, as it stands in the draft. */
export function approveMessage(call: PendingCall, draft: Draft): Decision {
  const { digest, gate } = call.question;
  const edited = isEdited(call, draft) ? draft.text : null;
  if (gate === "result") return { kind: "release", digest, ...(edited !== null && { text: edited }) };
  if (edited !== null) return { kind: "approve", digest, arguments: edited };
  return { kind: "approve", digest, ...(draft.remember && { remember: draft.remember }) };
}

/** The decision that refuses. */
export function denyMessage({ question }: PendingCall, reason: string): Decision {
  const { digest, gate } = question;
  return { kind: gate === "run" ? "deny" : "withhold", digest, ...(reason && { reason }) };
}
