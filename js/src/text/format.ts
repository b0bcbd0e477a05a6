/** Texts of the view: states of calls and turns, numbers, seconds, cost, arguments in one line. */
import type { CallBlock, CallState, DecisionData, Head, UsageData } from "../protocol";
import { limitStacks } from "./combining";
import {
  callStates,
  costUnknown,
  decisionSources,
  edited,
  endReasons,
  reaskReasons,
  rememberedScopes,
  resultWaits,
  toolsNotPriced,
  turnStatuses,
} from "./labels.json";

/** The sign and the word of every state of a call. These labels are generated from nbtool/blocks/labels.py. */
export const CALL_STATE_LABELS = callStates as unknown as Record<
  CallState,
  readonly [sign: string, word: string]
>;

/** What is shown below a turn that is not completed. */
export const TURN_STATUS_LABELS: Record<Head["status"], string> = turnStatuses;

/** Why a turn has no finished answer, in a few words for its footer. */
export const END_REASON_LABELS: ReadonlyMap<string, string> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(endReasons),
);

/** Shown for a call whose arguments a person edited. */
export const EDITED_LABEL = edited;

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

/** Shown after a verdict, by decision source; any other source is shown by name. */
const DECISION_SOURCES: ReadonlyMap<string, string> = new Map(Object.entries(decisionSources));

/** Why a decision was discarded, and approval was requested again. */
const REASK_REASONS = reaskReasons;

/** The sign and the word of a call's state; of a call that waits, also what the decision is about. */
export function callState(block: CallBlock): readonly [sign: string, word: string] {
  const [sign, word] = CALL_STATE_LABELS[block.state] ?? CALL_STATE_LABELS.unknown;
  return [sign, waitsForResult(block) ? resultWaits : word];
}

function waitsForResult({ state, question }: CallBlock): boolean {
  return state === "waiting" && question?.gate === "result";
}

/** What was decided about a call in a few words each, without what did not count. */
export function decisionFacts(block: CallBlock): string[] {
  const subjects = { run: waitsForResult(block) ? "call " : "", result: "result " };
  return block.decisions
    .filter(({ again }) => again === undefined)
    .map((decision) => `${subjects[decision.gate]}${decisionText(decision)}`);
}

/** One decision in full. */
export function decisionLine(decision: DecisionData): string {
  const { gate, reason, again } = decision;
  const what = `${gate === "run" ? "The call was" : "The result was"} ${decisionText(decision)}`;
  if (again !== undefined) {
    const problem = again.problem && `: ${singleLine(again.problem, 2000)}`;
    return `${what}, and asked about again, since ${REASK_REASONS[again.reason]}${problem}`;
  }
  return `${what}${reason && `: ${singleLine(reason, 2000)}`}`;
}

function decisionText({ verdict, by, edited, remember, again }: DecisionData): string {
  const source = DECISION_SOURCES.get(by) ?? ` by ${singleLine(by, 40)}`;
  const scope = remember && again === undefined ? rememberedScopes[remember] : "";
  return `${verdict}${edited ? " with your edit" : ""}${source}${scope}`;
}
