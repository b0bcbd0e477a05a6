/** Texts of the view: states of calls, numbers, seconds, and lines in which nothing is hidden. What the document says in words is made by nbtool/blocks/labels.py. */
import type { CallBlock, CallState, Head, UsageData } from "../protocol";
import { limitStacks } from "./combining";
import { callStates, costUnknown, edited, resultWaits, toolsNotPriced } from "./labels.json";

/** The sign and the word of every state of a call. These labels are generated from nbtool/blocks/labels.py. */
export const CALL_STATE_LABELS = callStates as unknown as Record<
  CallState,
  readonly [sign: string, word: string]
>;

/** Shown for a call whose arguments a person edited. */
export const EDITED_LABEL = edited;

/** Characters of a line of facts that the kernel wrote. */
export const MAX_FACTS = 2_000;

/** Shown if the kernel is lost. */
export const KERNEL_LOST = "The kernel does not respond: it has stopped, or is busy.";

/** Shown if the kernel does not acknowledge a click. */
export const NO_REPLY = "The kernel has not confirmed it. Use the notebook's interrupt button instead.";

/** Characters without a visible shape: ignorable, format and control characters, unusual spaces; not \n and tab. */
const INVISIBLE = /(?![\n\t])[\p{DI}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u202f\u205f\u2800]/gu;

/** Write invisible, bidirectional and control characters as escapes, so that nothing hides at a gate. */
export function escapeInvisible(text: string): string {
  return limitStacks(text).replace(
    INVISIBLE,
    (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`,
  );
}

/** The text as one visible line of at most `limit` characters. */
export function singleLine(text: string, limit = 120): string {
  const letters = [...text.slice(0, limit * 8 + 2)];
  const line = escapeInvisible(
    letters
      .slice(0, limit * 4)
      .join("")
      .replaceAll("\n", " "),
  )
    .split(/\s+/)
    .join(" ")
    .trim();
  const shown = [...line];
  return shown.length <= limit && letters.length <= limit * 4
    ? line
    : `${shown.slice(0, limit - 1).join("")}…`;
}

/** Read a JSON object; null for anything else. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(/[^ \t\n\r]/.test(text) ? text : "{}");
    return typeof value === "object" && !Array.isArray(value)
      ? (value as Record<string, unknown> | null)
      : null;
  } catch {
    return null;
  }
}

/** What has a cost: the usage of a turn, or a sum. */
type CostData = Pick<UsageData, "cost" | "is_cost_estimated" | "is_cost_unknown" | "lacks_tool_cost">;

/** A cost in US dollars, marked where it is computed from the tokens. */
export function formatCost({ cost, is_cost_estimated, is_cost_unknown, lacks_tool_cost }: CostData): string {
  if (cost === null) return is_cost_unknown ? costUnknown : "";
  return `${is_cost_estimated ? "about " : ""}$${cost.toFixed(4)}${lacks_tool_cost ? toolsNotPriced : ""}`;
}

/** A length of time as people read it; the same as `format_seconds` of nbtool/blocks/labels.py. */
export function formatSeconds(value: number): string {
  const whole = Math.floor(value + 0.05);
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return value >= 0.05 ? `${value.toFixed(1)} s` : `${(value * 1000).toFixed(0)} ms`;
}

/** How long a turn took; what it only waited for the person is counted apart. */
export function turnSeconds({ seconds, waited = 0 }: Pick<Head, "seconds" | "waited">): string {
  const own = formatSeconds(Math.max(0, (seconds ?? 0) - waited));
  return waited >= MIN_WAITED ? `${own} (+ ${formatSeconds(waited)} waiting for you)` : own;
}

/** Seconds of waiting for the person from which on they are worth a word; as in nbtool/blocks/labels.py. */
const MIN_WAITED = 0.05;

/** A number with its noun. */
export function plural(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

/** The marker of a truncated text. */
export function omittedMarker(omitted: number | undefined): string {
  return omitted ? `… ${plural(omitted, "character")} more` : "";
}

/** The sign and the word of a call's state; of a call that waits, also what the decision is about. */
export function callState(block: CallBlock): readonly [sign: string, word: string] {
  const [sign, word] = CALL_STATE_LABELS[block.state] ?? CALL_STATE_LABELS.unknown;
  return [sign, waitsForResult(block) ? resultWaits : word];
}

function waitsForResult({ state, question }: CallBlock): boolean {
  return state === "waiting" && question?.gate === "result";
}
