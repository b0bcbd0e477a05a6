import type { Shown } from "../../kernel/turn";
import type { Asked, CallBlock, Document } from "../../protocol";
import { unmasked } from "../../text/confusables";
import { counted, oneLine, readObject, UNHEARD } from "../../text/format";
import { onlyReference, resolvedText } from "../../text/resolved";

/** Milliseconds for which a question is only to be looked at: nobody presses what has just come under the hand. */
export const ARM_MS = 500;

/** Characters from which on what is asked about has to be opened before it can be approved. */
export const LONG = 600;

/** A call that waits for a person. */
export type Waiting = CallBlock & { question: Asked };

/** The calls that wait, in their order. */
export function waitingCalls({ blocks }: Document): Waiting[] {
  return blocks.filter((block): block is Waiting => block.kind === "call" && block.question !== null);
}

/** Whether there is a question, or may have been one in a turn that goes on. */
export function isAsking({ head, blocks }: Document): boolean {
  const goesOn = head.status === "running" || head.status === "waiting";
  return blocks.some((block) => block.kind === "call" && (goesOn || block.question));
}

/** What tells one set of questions from another: with each new one, the card is armed anew. */
export function keyOf(calls: Waiting[]): string {
  return calls.map(({ question }) => question.digest).join();
}

/** What a record itself holds under a name; a model may well name an argument `constructor`. */
export function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** One argument in the sentence; `whole` when nothing of it is left out or told in other words. */
export interface Said {
  name: string;
  value: string;
  what: string;
  whole: boolean;
}

/** A line of what is asked about, in which no letter looks like another. */
export function askedLine(text: string, limit = SAID): string {
  return oneLine(unmasked(text.slice(0, limit * 4)), limit);
}

const SAID = 60;

/** What was made of a question last: a card draws one often, and of one that was edited each text is another. */
const lastSaid = new WeakMap<Asked, { resolved: unknown; edited: string | null; said: Said[] }>();

/** Each argument in a few words: references as what they stand for, everything else as it is written. */
export function saidArguments({ question, resolved }: Waiting, edited: string | null = null): Said[] {
  const last = lastSaid.get(question);
  if (last?.resolved === resolved && last.edited === edited) return last.said;
  const said = sayArguments(question, resolved, edited);
  lastSaid.set(question, { resolved, edited, said });
  return said;
}

function sayArguments(question: Asked, resolved: CallBlock["resolved"], edited: string | null): Said[] {
  const asked = readObject(question.shown) ?? {};
  const values = edited === null ? asked : (readObject(edited) ?? {});
  return Object.entries(values).map(([name, value]) => {
    const isAsked = JSON.stringify(own(asked, name)) === JSON.stringify(value);
    // as the kernel wrote it, never from the value read here, whose numbers are too coarse
    const argument = isAsked ? own(resolved, name) : undefined;
    const written = isAsked ? (argument ? resolvedText(argument) : "…") : exactly(value);
    const reference = argument && onlyReference(argument);
    const lines = typeof value === "string" ? value.trimEnd().split("\n").length : 1;
    const line = lines > 1 ? counted(lines, "line") : askedLine(reference?.name ?? written);
    return {
      name: askedLine(name),
      value: line,
      what: reference ? oneLine(reference.summary || reference.text, SAID) : "",
      whole: line === (reference?.name ?? written),
    };
  });
}

/** A value as JSON where this is what was typed for certain. */
function exactly(value: unknown): string {
  const isExact = typeof value !== "object" && (typeof value !== "number" || Number.isSafeInteger(value));
  return isExact || value === null ? JSON.stringify(value) : "…";
}

/** Where a decision stands, or why none can be made. */
export function standing(digest: string, { sent, link }: Shown): string {
  const mine = sent[digest];
  switch (mine?.state) {
    case "sent":
      return "Sent.";
    case "taken":
      return "Taken.";
    case "refused":
      return mine.text;
    case "unheard":
      return UNHEARD;
  }
  if (link === "unheard")
    return "The kernel cannot hear this page while the cell runs: use its interrupt button, or %chat.";
  return link === "gone" ? "The kernel does not answer. Nothing can be decided here." : "";
}

/** Whether a decision is on its way, or can have no effect. */
export function isShut(digest: string, { sent, link }: Shown): boolean {
  const state = sent[digest]?.state;
  return link === "gone" || state === "sent" || state === "taken";
}
