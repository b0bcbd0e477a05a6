/** The arguments that a person entered in place of the model's, in brief. */
import type { QuestionData } from "../../protocol";
import { shortArguments } from "../../text/argumentLines";
import { parseObject } from "../../text/format";
import {
  type ArgumentSummary,
  MAX_LINE_CHARS,
  ownProperty,
  type PendingCall,
  summarizeArgument,
  UNKNOWN,
} from "../../views/approval/pending";

/** What was made of an edit last: of one that is being typed, each text is another. */
const editCache = new WeakMap<
  QuestionData,
  { resolved: unknown; edited: string; summaries: ArgumentSummary[] }
>();

/** Each argument in brief: one that was not changed as in the question, any other as it was typed. */
export function summarizeEdited({ question, resolved }: PendingCall, edited: string): ArgumentSummary[] {
  const cached = editCache.get(question);
  if (cached?.resolved === resolved && cached.edited === edited) return cached.summaries;
  const original = parseObject(question.shown) ?? {};
  const summaries = Object.entries(parseObject(edited) ?? {}).map(([name, value]) =>
    JSON.stringify(ownProperty(original, name)) === JSON.stringify(value)
      ? summarizeArgument(name, value, ownProperty(resolved, name))
      : summarizeArgument(name, value, undefined, exactJson(name, value, edited)),
  );
  editCache.set(question, { resolved, edited, summaries });
  return summaries;
}

/** A value as JSON where this is what was typed for certain: JavaScript may have lost digits of its numbers. */
function exactJson(name: string, value: unknown, typed: string): string {
  const json = JSON.stringify(value);
  const isPlain = typeof value !== "object" && (typeof value !== "number" || Number.isSafeInteger(value));
  if (isPlain || value === null) return json;
  const compact = (text: string): string => text.replace(/\s/g, "");
  const member = compact(`${JSON.stringify(name)}:${json}`);
  const isExact = [",", "}"].some((end) => compact(typed).includes(member + end));
  return isExact ? shortArguments(`{"a":${json}}`, MAX_LINE_CHARS * 4).slice(2) : UNKNOWN;
}
