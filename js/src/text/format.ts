import type { CallState, Decided, Head } from "../protocol";
import { withoutStacks } from "./combining";

/** The sign and the word of every state of a call; mirrors nbtool/blocks/labels.py. */
export const STATES: Record<CallState, readonly [sign: string, word: string]> = {
  writing: ["…", "being written"],
  ready: ["○", "ready"],
  waiting: ["◆", "waiting for a decision"],
  running: ["●", "running"],
  ok: ["✓", "done"],
  error: ["✕", "failed"],
  denied: ["⊘", "denied"],
  withheld: ["⊘", "result withheld"],
  not_found: ["✕", "no such tool"],
  invalid: ["✕", "invalid arguments"],
  timed_out: ["✕", "timed out"],
  cancelled: ["■", "cancelled"],
  not_run: ["○", "not run"],
  unknown: ["?", "outcome unknown"],
};

/** What is said of a turn that is not completed. */
export const ENDS: Record<Head["status"], string> = {
  running: "",
  waiting: "",
  completed: "",
  cancelled: "Stopped before it was finished.",
  error: "The turn failed.",
  timeout: "The turn ran out of time.",
  parked: "Parked: a call waits for a decision (see %chat approvals).",
};

/** Why a turn has no finished answer, in a few words for its footer; mirrors nbtool/blocks/labels.py. */
export const END_REASONS: ReadonlyMap<string, string> = new Map([
  ["length", "cut off at the length limit"],
  ["refused", "refused by the model"],
  ["filtered", "stopped by the content filter"],
  ["broken_off", "broken off by the provider"],
  ["thinking_only", "thinking, but no answer"],
  ["provider_action", "stopped for an action that the provider asked for"],
  ["empty", "no final reply"],
  ["rounds", "limit on rounds reached"],
  ["calls", "stopped at its calls"],
  ["tokens", "limit on tokens reached"],
  ["cost", "limit on cost reached"],
  ["seconds", "limit on seconds reached"],
  ["repetition", "stopped for repeating itself"],
  ["interrupted", "the kernel ended first"],
]);

/** Said of a call whose arguments a person changed. */
export const EDITED = "edited by you";

/** Said where the kernel does not acknowledge a click. */
export const UNHEARD = "The kernel has not taken note of it. Press the kernel's interrupt button instead.";

/** What has no shape of its own on a page: ignorable, format and control characters, odd spaces; not \n and tab. */
const INVISIBLE = /(?![\n\t])[\p{DI}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u202f\u205f\u2800]/gu;

/** Write invisible, bidirectional and control characters as escapes, so that nothing hides at a gate. */
export function visible(text: string): string {
  return withoutStacks(text).replace(
    INVISIBLE,
    (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}}`,
  );
}

/** The text as one visible line of at most `limit` characters. */
export function oneLine(text: string, limit = 120): string {
  const line = visible(text.slice(0, limit * 4).replaceAll("\n", " "))
    .split(/\s+/)
    .join(" ")
    .trim();
  return line.length <= limit && text.length <= limit * 4 ? line : `${line.slice(0, limit - 1)}…`;
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** A call's arguments on one line, as Python would write them; its numbers stay as they were written. */
export function shortArguments(text: string, limit = 80): string {
  if (!readObject(text)) return oneLine(text, limit);
  let depth = 0;
  let line = "";
  for (const token of text.match(JSON_TOKENS) ?? []) {
    if (token === "}" || token === "]") depth--;
    if (token === ":") line = depth === 1 ? `${unquoted(line)}=` : `${line}: `;
    else if (token === ",") line += ", ";
    else if (depth > 0) line += token;
    if (token === "{" || token === "[") depth++;
    if (line.length > limit * 4) break;
  }
  return oneLine(line, limit);
}

/** Take the quotes off the key that a line ends with, where it is a plain word. */
function unquoted(line: string): string {
  return line.replace(/"([\w-]+)"$/, "$1");
}

/** A call's arguments in full with nothing invisible in them; JSON is indented, and no character of it changed. */
export function longArguments(text: string): string {
  return visible(readObject(text) ? indented(text) : text);
}

/** Levels of JSON that are indented; of what lies deeper, the spaces would be most of the text. */
export const INDENT_LIMIT = 100;

/** Indent JSON by its tokens alone, so that a long number or a doubled key stays what it is; where it is deep, it stays too. */
export function indented(text: string): string {
  const out: string[] = [];
  let depth = 0;
  let before = "";
  for (const token of text.match(JSON_TOKENS) ?? []) {
    const isOpened = before === "{" || before === "[";
    if (token === "}" || token === "]") {
      depth--;
      out.push(isOpened ? "" : line(depth));
    } else if (isOpened || before === ",") out.push(line(depth));
    out.push(token === ":" ? ": " : token);
    if (token === "{" || token === "[") depth++;
    if (depth > INDENT_LIMIT) return text;
    before = token;
  }
  return out.join("");
}

function line(depth: number): string {
  return `\n${"  ".repeat(depth)}`;
}

/** Read a JSON object; null for anything else. */
export function readObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return typeof value === "object" && !Array.isArray(value)
      ? (value as Record<string, unknown> | null)
      : null;
  } catch {
    return null;
  }
}

/** A length of time as people read it. */
export function seconds(value: number): string {
  if (value >= 60) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  return value >= 0.05 ? `${value.toFixed(1)} s` : `${(value * 1000).toFixed(0)} ms`;
}

/** A number with its noun. */
export function counted(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
}

/** The mark that stands where a text was cut. */
export function marker(omitted: number | undefined): string {
  return omitted ? `… ${counted(omitted, "character")} more` : "";
}

/** What is said after a verdict, by who decided; of anybody else the name. */
const DECIDED_BY: ReadonlyMap<string, string> = new Map([
  ["button", ""],
  ["input", ""],
  ["expired", ": nobody answered in time"],
  ["policy", " without asking"],
  ["error", ": the approver failed"],
  ["remembered", " as remembered"],
]);

/** Why a decision did not count, and the call was asked about again. */
const ASKED_AGAIN = {
  changed: "it had changed since it was shown",
  unwatched: "it may have changed since it was shown",
  invalid: "the edited arguments did not fit",
} as const;

/** What was decided about a call in a few words each, without what did not count. */
export function decisionFacts(decisions: readonly Decided[]): string[] {
  return decisions
    .filter(({ again }) => again === undefined)
    .map((decided) => `${decided.gate === "result" ? "result " : ""}${decisionWords(decided)}`);
}

/** One decision in full. */
export function decisionLine(decided: Decided): string {
  const { gate, reason, again } = decided;
  const what = `${gate === "run" ? "The call was" : "The result was"} ${decisionWords(decided)}`;
  if (again !== undefined) {
    const problem = again.problem && `: ${oneLine(again.problem, 2000)}`;
    return `${what}, and asked about again, since ${ASKED_AGAIN[again.reason]}${problem}`;
  }
  return `${what}${reason && `: ${oneLine(reason, 2000)}`}`;
}

function decisionWords({ verdict, by, edited }: Decided): string {
  return `${verdict}${edited ? " with your edit" : ""}${DECIDED_BY.get(by) ?? ` by ${oneLine(by, 40)}`}`;
}
