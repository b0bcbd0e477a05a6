import type { JSX } from "preact";
import { isLive, type LinkState, type RequestState, type TurnState } from "../kernel/turn";
import type { Document } from "../protocol";
import { KERNEL_LOST, NO_REPLY, plural, singleLine } from "../text/format";
import { LazyView } from "./LazyView";

interface Props {
  state: TurnState;
  /** When this page first showed the turn, in milliseconds. */
  since: number;
  stop: () => void;
}

/**
 * While the turn runs, in the line of its footer: what it does, its duration, and the stop button. Nothing is above the
 * answer that goes when the turn ends, so that what is read stays where it is.
 */
export function Activity({ state, since, stop }: Props): JSX.Element | null {
  const { document, link, requests } = state;
  if (!isLive(document)) return null;
  const stopping = requests.stop?.state === "sent" || requests.stop?.state === "accepted";
  const unconfirmed = Object.entries(requests).find(
    ([key, { state }]) => key.startsWith("stop") && state === "noReply",
  );
  const problem = problemOf(link, unconfirmed?.[1] ?? requests.stop);
  return (
    <span class="nb-activity">
      {problem && (
        <span class="nb-alert" role="alert">
          {problem}
        </span>
      )}
      <span class={`nb-sign nb-sign-${document.head.status}`} aria-hidden="true" />
      <span role="status">{activityOf(document)}</span>
      <LazyView view="elapsed" props={{ since, isPaused: document.head.status === "waiting" }} />
      <button type="button" class="nb-button" disabled={stopping} title="Stop the turn" onClick={stop}>
        {stopping ? "Stopping" : "Stop"}
      </button>
    </span>
  );
}

/** What the turn does now, in a few words. */
function activityOf({ head, blocks }: Document): string {
  if (head.activity) return singleLine(head.activity, 200);
  const calls = blocks.filter((block) => block.kind === "call");
  const waiting = calls.filter((call) => call.question).length;
  if (waiting)
    return waiting === 1 ? "Waiting for your decision" : `Waiting for ${plural(waiting, "decision")}`;
  const running = calls.filter((call) => call.state === "running");
  if (running.length > 1) return `Running ${plural(running.length, "call")}`;
  if (running[0]) return `Running ${singleLine(running[0].name, 64)}`;
  const last = blocks.at(-1);
  if (last?.kind === "call" && last.state === "writing") return "Writing a call";
  if (last?.kind === "text" && last.state === "open") return "Writing";
  return last?.kind === "thinking" && last.state === "open" ? "Thinking" : "Waiting for the model";
}

function problemOf(link: LinkState, sent: RequestState | undefined): string {
  if (link === "lost") return KERNEL_LOST;
  if (sent?.state === "noReply") return NO_REPLY;
  return sent?.state === "refused" ? sent.text : "";
}
