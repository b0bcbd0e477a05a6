import { Component, type JSX } from "preact";
import { isLive, type LinkState, type RequestState, type TurnState } from "../kernel/turn";
import type { Document } from "../protocol";
import { formatSeconds, NO_REPLY, plural, singleLine } from "../text/format";

/** While the turn runs: its activity, its duration, and the stop button. */
export function Header({ state, stop }: { state: TurnState; stop: () => void }): JSX.Element | null {
  const { document, link, requests } = state;
  if (!isLive(document)) return null;
  const stopping = requests.stop?.state === "sent" || requests.stop?.state === "accepted";
  const unconfirmed = Object.entries(requests).find(
    ([key, { state }]) => key.startsWith("stop") && state === "noReply",
  );
  const problem = problemOf(link, unconfirmed?.[1] ?? requests.stop);
  return (
    <header class="nb-header">
      <span class={`nb-sign nb-sign-${document.head.status}`} aria-hidden="true" />
      <span role="status">{activityOf(document)}</span>
      <Elapsed isPaused={document.head.status === "waiting"} />
      <button type="button" class="nb-button" disabled={stopping} title="Stop the turn" onClick={stop}>
        {stopping ? "Stopping" : "Stop"}
      </button>
      {problem && (
        <p class="nb-alert" role="alert">
          {problem}
        </p>
      )}
    </header>
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
  if (link === "lost") return "The kernel does not respond: it has stopped, or is busy.";
  if (sent?.state === "noReply") return NO_REPLY;
  return sent?.state === "refused" ? sent.text : "";
}

/** The seconds that this page counted while the turn ran: not those in which it waited for the person, and fewer while it is hidden. */
class Elapsed extends Component<{ isPaused: boolean }, { seconds: number }> {
  override state = { seconds: 0 };
  #timer = setInterval(() => this.props.isPaused || this.setState({ seconds: this.state.seconds + 1 }), 1000);

  override componentWillUnmount(): void {
    clearInterval(this.#timer);
  }

  render(): JSX.Element {
    return (
      <span class="nb-muted">
        {this.state.seconds > 1 && formatSeconds(this.state.seconds).replace(".0", "")}
      </span>
    );
  }
}
