/** The one request of a saved turn to its kernel, over a comm that is closed after the answer. Nothing runs by it. */
import { type SavedTurnAnswer, type SavedTurnRequest, VERSION } from "../protocol";
import type { Kernel } from "./types";

/** The same as in nbtool/magics/__init__.py. */
const TARGET = "nbtool.saved_turn";

/** Send a request, and return the answer; null where the kernel has not loaded nbtool, or has no comms. */
export function requestFromKernel(
  kernel: Kernel | null | undefined,
  request: SavedTurnRequest,
): Promise<SavedTurnAnswer | null> {
  return new Promise((resolve) => {
    try {
      const comm = kernel?.createComm?.(TARGET);
      if (!comm) {
        resolve(null);
        return;
      }
      comm.onClose = () => resolve(null);
      comm.onMsg = ({ content }) => {
        resolve(isAnswer(content.data) ? content.data : null);
        comm.onClose = undefined;
        comm.close();
      };
      comm.open(request);
    } catch {
      resolve(null); // another client of this kernel has its comms
    }
  });
}

function isAnswer(value: unknown): value is SavedTurnAnswer {
  const answer = value as Partial<SavedTurnAnswer> | null;
  return answer?.v === VERSION && typeof answer.ok === "boolean" && typeof answer.text === "string";
}
