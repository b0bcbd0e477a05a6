import type { TurnStatus } from "../protocol";

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
