import type { JSX } from "preact";
import type { Connection, RequestState } from "../../kernel/turn";
import { singleLine } from "../../text/format";

interface Props {
  callId: string;
  name: string;
  request: RequestState | undefined;
  stopCall: Connection["stopCall"];
}

/** The button beside the row of a running call that stops this call alone. */
export function StopCall({ callId, name, request, stopCall }: Props): JSX.Element {
  const isStopping = request?.state === "sent" || request?.state === "accepted";
  const label = `${isStopping ? "Stopping" : "Stop"} ${singleLine(name, 64)}`;
  return (
    <button
      type="button"
      class="nb-text-button nb-side-button nb-stop-call"
      aria-label={label}
      title={isStopping ? label : "Stop this call; the turn goes on"}
      disabled={isStopping}
      onClick={() => stopCall(callId)}
    >
      <span class="nb-icon nb-icon-stop" />
    </button>
  );
}
