/** What a person has changed about a question and not yet sent, and the message that sends it. */
import type { Decision } from "../../protocol";
import { parseObject, plural } from "../../text/format";
import { type PendingCall, unopenedLimit } from "../../views/approval/pending";
import { MAX_NAMED_ARGUMENTS } from "../../views/approval/Sentence";

/** What a person has done about one question so far, and not yet sent. */
export interface Draft {
  /** Whether the whole question was visible: long parts were opened. */
  isOpened: boolean;
  /** The end of the question was on the screen. */
  isSeen: boolean;
  /** Whether the fields of a call are open that is one line among several. */
  isExpanded: boolean;
  /** Whether the editor is open. */
  isEditing: boolean;
  /** The replacement of what was asked: arguments as JSON, or the text of a result. */
  text: string | null;
  /** Why that cannot be sent, by argument. */
  problems: Record<string, string>;
  remember: "" | "call" | "tool";
  reason: string;
  /** The text at the time of the approval; missing without one. */
  sentText?: string | null;
}

/** A draft in which nothing was done. */
export const EMPTY_DRAFT: Draft = {
  isOpened: false,
  isSeen: false,
  isExpanded: false,
  isEditing: false,
  text: null,
  problems: {},
  remember: "",
  reason: "",
};

/** Maximum characters of a text field: browsers are too slow to lay out and edit more of mixed scripts. */
export const MAX_FIELD_CHARS = 30_000;

/** The message in place of a field for a longer text. */
export function tooLongToEdit(length: number): string {
  return `${plural(length, "character")}: too long to edit here. The limit is ${plural(MAX_FIELD_CHARS, "character")}.`;
}

/** How much has to be read before an approval. */
export function contentLength({ question }: PendingCall): number {
  return question.shown.length + (question.effect?.length ?? 0) + (question.notice?.length ?? 0);
}

/** Whether a whole question is visible without opening anything. */
export function isReadable(call: PendingCall, draft: Draft): boolean {
  return draft.isOpened || contentLength(call) <= unopenedLimit(call.question);
}

/** Whether the line of a question holds all of it, so that there is nothing more to read. */
export function isOneLine(call: PendingCall): boolean {
  const { gate, effect, notice, media, again, notes = [], shown } = call.question;
  const hasMore = effect || notice || media || again || notes.length;
  const given = parseObject(shown);
  if (gate === "result" || hasMore || !given) return false;
  const { lines = [] } = call.question;
  const areAllNamed = lines.length === Object.keys(given).length && lines.length <= MAX_NAMED_ARGUMENTS;
  return areAllNamed && lines.every(({ is_complete }) => is_complete);
}

/** Whether something other than the original would be sent. */
export function isEdited({ question }: PendingCall, { text }: Draft): boolean {
  return text !== null && text !== question.shown;
}

/** Return the decision of a draft that approves a call or releases its result. */
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
