import { Component, type JSX } from "preact";
import { isLive, type Link, type Sent, type Shown } from "../kernel/turn";
import type { Document } from "../protocol";
import { counted, oneLine, seconds, UNHEARD } from "../text/format";

/** While the turn goes on: what happens now, for how long, and the button that ends it. */
export function Header({ shown, stop }: { shown: Shown; stop: () => void }): JSX.Element | null {
  const { document, link, sent } = shown;
  if (!isLive(document)) return null;
  const stopping = sent.stop?.state === "sent" || sent.stop?.state === "taken";
  const problem = trouble(link, sent.stop);
  return (
    <header class="nb-head">
      <span class={`nb-sign nb-sign-${document.head.status}`} aria-hidden="true" />
      <span role="status">{doing(document)}</span>
      <Elapsed />
      <button type="button" class="nb-button" disabled={stopping} onClick={stop}>
        {stopping ? "Stopping" : "Stop"}
      </button>
      {problem && (
        <p class="nb-trouble" role="alert">
          {problem}
        </p>
      )}
    </header>
  );
}

/** What the turn does now, in a few words. */
function doing({ head, blocks }: Document): string {
  if (head.activity) return oneLine(head.activity, 200);
  const calls = blocks.filter((block) => block.kind === "call");
  const waiting = calls.filter((call) => call.question).length;
  if (waiting)
    return waiting === 1 ? "Waiting for your decision" : `Waiting for ${counted(waiting, "decision")}`;
  const running = calls.filter((call) => call.state === "running");
  if (running.length > 1) return `Running ${counted(running.length, "call")}`;
  if (running[0]) return `Running ${oneLine(running[0].name, 64)}`;
  const last = blocks.at(-1);
  if (last?.kind === "call" && last.state === "writing") return "Writing a call";
  if (last?.kind === "text" && last.state === "open") return "Writing";
  return last?.kind === "thinking" && last.state === "open" ? "Thinking" : "Waiting for the model";
}

function trouble(link: Link, sent: Sent | undefined): string {
  if (link === "gone") return "The kernel does not answer: it is gone, or too busy to hear.";
  if (sent?.state === "unheard") return UNHEARD;
  return sent?.state === "refused" ? sent.text : "";
}

/** Seconds since this page saw the turn run. */
class Elapsed extends Component<object, { seconds: number }> {
  override state = { seconds: 0 };
  #began = Date.now();
  #timer = setInterval(() => this.setState({ seconds: Math.floor((Date.now() - this.#began) / 1000) }), 1000);

  override componentWillUnmount(): void {
    clearInterval(this.#timer);
  }

  render(): JSX.Element {
    return (
      <span class="nb-quiet">{this.state.seconds > 1 && seconds(this.state.seconds).replace(".0", "")}</span>
    );
  }
}
