/** Pending questions of a turn as plain sentences: who asks what, with which arguments. */
import type { TurnState } from "../../kernel/turn";
import type { CallBlock, Document, QuestionData } from "../../protocol";
import { escapeConfusables } from "../../text/confusables";
import { KERNEL_LOST, NO_REPLY, plural, singleLine } from "../../text/format";

/** Milliseconds for which a new question ignores clicks, so that no click meant for something else decides it. */
export const ARM_MS = 500;

/** The same after a question was decided, added or removed: a button may then have moved under the pointer. */
export const SETTLE_MS = 1_500;

/** The tooltip of a button that does not take clicks yet. */
export const NOT_ARMED = "Can be clicked in a moment: the card has just appeared or changed";

/** Said of a click that came before a button takes any. */
export const TOO_EARLY = "Not taken: the card had just changed. Click again.";

/** Characters above which a question has to be opened before it can be approved. */
export const MAX_UNOPENED_CHARS = 600;

/** The same of a result, which is one text in one box. */
const MAX_UNOPENED_RESULT_CHARS = 2_000;

/** The characters of a question that are shown before it is opened. */
export function unopenedLimit({ gate }: QuestionData): number {
  return gate === "result" ? MAX_UNOPENED_RESULT_CHARS : MAX_UNOPENED_CHARS;
}

/** Why a click on approve had no effect: what is not rendered yet was not read. */
export const STILL_DRAWING = "Still loading. Approve again when all of it is shown.";

/** A call that waits for a person. */
export type PendingCall = CallBlock & { question: QuestionData };

/** The calls that wait, in their order. */
export function pendingCalls({ blocks }: Document): PendingCall[] {
  return blocks.filter((block): block is PendingCall => block.kind === "call" && block.question !== null);
}

/** Whether there is a question, or may be one in a running turn. */
export function mayAsk({ head, blocks }: Document): boolean {
  const isRunning = head.status === "running" || head.status === "waiting";
  return blocks.some((block) => block.kind === "call" && (isRunning || block.question));
}

/** Identifies a set of questions: with each new one, the card is armed again. */
export function questionKey(calls: PendingCall[]): string {
  return calls.map(({ question }) => question.digest).join();
}

/** What a record itself holds under a name; a model may well name an argument `constructor`. */
export function ownProperty<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** A line of a question, with confusable letters escaped. */
export function safeLine(text: string, limit = MAX_LINE_CHARS): string {
  return singleLine(escapeConfusables(text.slice(0, limit * 4)), limit);
}

/** Who receives a result: the model, or the client that called the tool. */
export function recipientOf({ recipient }: QuestionData): string {
  return recipient === undefined ? "the model" : safeLine(recipient, 80);
}

export const MAX_LINE_CHARS = 60;

/** The state of a decision, or why none is possible. */
export function decisionStatus(digest: string, { requests, link }: TurnState): string {
  const request = requests[digest];
  switch (request?.state) {
    case "sent":
      return "Sent.";
    case "accepted":
      return "Accepted.";
    case "refused":
      return request.text;
    case "noReply":
      return NO_REPLY;
  }
  if (link === "noReply")
    return "The kernel cannot receive messages while the cell runs: use the interrupt button, or %chat.";
  return link === "lost" ? KERNEL_LOST : "";
}

/** Whether a decision is on its way, or can have no effect. */
export function isDisabled(digest: string, { requests, link }: TurnState): boolean {
  const state = requests[digest]?.state;
  return link === "lost" || state === "sent" || state === "accepted";
}

/** The classes of a card: only what is sensitive looks like a warning. */
export function cardClass(calls: readonly PendingCall[]): string {
  return calls.some(({ question }) => question.sensitive && !question.is_form)
    ? "nb-card nb-sensitive"
    : "nb-card";
}

/** How many calls wait, and of those that have run their results. */
export function countCalls(calls: readonly PendingCall[]): string {
  const results = calls.filter(({ question }) => question.gate === "result").length;
  const others = calls.length - results;
  return [others && plural(others, "call"), results && plural(results, "result")]
    .filter(Boolean)
    .join(" and ");
}

/** What waits for a decision, in a few words. */
export function approvalTitle(calls: readonly PendingCall[]): string {
  return calls.every(({ question }) => question.gate === "result")
    ? "Result approval required"
    : "Approval required";
}
