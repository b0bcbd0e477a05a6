import type { TurnStatus } from "../protocol";

/** A sign for how a turn ended; the word stands beside it for those who cannot see it. */
export const STATUS_SIGNS: Record<TurnStatus, string> = {
  completed: "✓",
  cancelled: "■",
  error: "✕",
  timeout: "✕",
  parked: "◆",
  waiting: "◆",
  running: "●",
};
