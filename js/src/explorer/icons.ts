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

type Counts = Pick<Version, "calls" | "failed" | "denied">;

/** How a turn ended, for a row: a completed turn in which no call worked has no tick. */
export function turnSign({ status, calls, failed = 0, denied = 0 }: Pick<Version, "status"> & Counts): {
  sign: string;
  label: string;
  style: string;
} {
  const sign = STATUS_SIGNS[status] ?? "?";
  const label = [status, failedCalls({ calls, failed, denied })].filter(Boolean).join("; ");
  if (status !== "completed" || failed + denied === 0 || failed + denied < calls)
    return { sign, label, style: status };
  return { sign: failed > 0 ? "!" : "⊘", label, style: "failed" };
}

/** How many of the calls failed, and how many were denied, in words. */
export function failedCalls({ calls, failed = 0, denied = 0 }: Counts): string {
  return [share(calls, failed, "failed"), share(calls, denied, "denied")].filter(Boolean).join(", ");
}

function share(calls: number, count: number, outcome: "failed" | "denied"): string {
  if (count === 0) return "";
  if (count < calls) return `${count.toLocaleString("en")} of ${plural(calls, "call")} ${outcome}`;
  return calls === 1 ? `its call ${outcome}` : `all ${plural(calls, "call")} ${outcome}`;
}
