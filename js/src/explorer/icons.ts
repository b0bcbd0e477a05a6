/** The symbols of a turn's status in the explorer, with their words. */
import type { TurnStatus } from "../protocol";
import { plural } from "../text/format";
import type { Version } from "./protocol";

/** A symbol for a turn's status; it has the word as its label for screen readers. */
export const STATUS_SIGNS: Record<TurnStatus, string> = {
  completed: "✓",
  cancelled: "■",
  error: "✕",
  timeout: "✕",
  parked: "◆",
  waiting: "◆",
  running: "●",
};

/** How a turn ended, for a row: a completed turn in which every call failed has no tick. */
export function turnSign({ status, calls, failed = 0 }: Pick<Version, "status" | "calls" | "failed">): {
  sign: string;
  label: string;
  style: string;
} {
  const sign = STATUS_SIGNS[status] ?? "?";
  if (failed === 0) return { sign, label: status, style: status };
  const label = `${status}; ${failedCalls({ calls, failed })}`;
  return status === "completed" && failed >= calls
    ? { sign: "!", label, style: "failed" }
    : { sign, label, style: status };
}

/** How many of the calls failed, in words. */
export function failedCalls({ calls, failed = 0 }: Pick<Version, "calls" | "failed">): string {
  if (failed === 0) return "";
  if (failed < calls) return `${failed.toLocaleString("en")} of ${plural(calls, "call")} failed`;
  return calls === 1 ? "its call failed" : `all ${plural(calls, "call")} failed`;
}
