import { Component, type JSX } from "preact";
import type { Shown } from "../connection";
import type { Asked, CallBlock, Decision } from "../protocol";
import { counted, indented, longArguments, oneLine, readObject, UNHEARD, visible } from "../text";

const ARM_MS = 500;
const LONG = 600;

interface Props {
  call: CallBlock;
  asked: Asked;
  shown: Shown;
  decide: (decision: Decision) => void;
}

interface State {
  armed: boolean;
  opened: boolean;
  edited: string | null;
  remember: string;
  reason: string;
}

/**
 * The question at a gate. It never takes the focus, hears no click in its first half second, and allows nothing
 * before all that will run, or be read, was in view.
 */
export class Approval extends Component<Props, State> {
  override state: State = { armed: false, opened: false, edited: null, remember: "", reason: "" };
  #timer = setTimeout(() => this.setState({ armed: true }), ARM_MS);

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
  }

  #agree = (): void => {
    const { asked, decide } = this.props;
    const { edited, remember } = this.state;
    const { digest } = asked;
    const lasting = edited === null && (remember === "call" || remember === "tool");
    if (asked.gate === "result")
      decide({ kind: "release", digest, ...(edited !== null && { text: edited }) });
    else
      decide({
        kind: "approve",
        digest,
        ...(edited !== null && { arguments: edited }),
        ...(lasting && { remember }),
      });
  };

  #refuse = (): void => {
    const { asked, decide } = this.props;
    const { reason } = this.state;
    decide({
      kind: asked.gate === "run" ? "deny" : "withhold",
      digest: asked.digest,
      ...(reason && { reason }),
    });
  };

  #edit = (): void => {
    const { gate, shown } = this.props.asked;
    this.setState(({ edited }) => ({
      edited: edited !== null ? null : gate === "run" ? indented(shown) : shown,
    }));
  };

  render(): JSX.Element {
    const { call, asked, shown } = this.props;
    const { armed, opened, edited, remember, reason } = this.state;
    const words = WORDS[asked.gate];
    const sent = shown.sent[asked.digest]?.state;
    const full = (asked.gate === "run" ? longArguments : visible)(asked.shown);
    const readable = opened || full.length <= LONG;
    const broken = asked.gate === "run" && edited !== null && !readObject(edited);
    const busy = !armed || sent === "sent" || sent === "taken";
    return (
      <fieldset
        class="nb-card"
        aria-label="Approval"
        data-lm-suppress-shortcuts="true"
        onKeyDown={keep}
        onKeyUp={keep}
      >
        <p class="nb-ask">
          {words.ask} <code>{oneLine(asked.tool, 80)}</code>?
          <span class="nb-quiet"> {oneLine(asked.description, 300)}</span>
        </p>
        {edited === null ? (
          <pre class="nb-code nb-prewrap">{readable ? full || "(nothing)" : `${full.slice(0, LONG)}…`}</pre>
        ) : (
          <textarea
            class="nb-code"
            aria-label={words.edit}
            rows={Math.min(12, edited.split("\n").length + 1)}
            value={edited}
            onInput={(event) => this.setState({ edited: event.currentTarget.value })}
          />
        )}
        {!readable && (
          <button type="button" class="nb-plain" onClick={() => this.setState({ opened: true })}>
            Show all {counted(full.length, "character")}
          </button>
        )}
        <References entries={asked.shown.includes("$VAR_REF") ? Object.entries(call.resolved) : []} />
        <div class="nb-row">
          <button
            type="button"
            class="nb-button nb-yes"
            disabled={busy || !readable || broken}
            onClick={this.#agree}
          >
            {words.yes}
            {edited !== null && " as edited"}
          </button>
          <button type="button" class="nb-button" disabled={busy} onClick={this.#refuse}>
            {words.no}
          </button>
          <button type="button" class="nb-plain" disabled={!readable} onClick={this.#edit}>
            {edited === null ? "Edit" : "Undo the edit"}
          </button>
          <input
            class="nb-reason"
            maxLength={4000}
            placeholder={words.reason}
            aria-label={words.reason}
            value={reason}
            onInput={(event) => this.setState({ reason: event.currentTarget.value })}
          />
          {asked.gate === "run" && asked.can_remember && edited === null && (
            <select
              aria-label="Ask again"
              value={remember}
              onChange={(event) => this.setState({ remember: event.currentTarget.value })}
            >
              <option value="">Ask every time</option>
              <option value="call">Remember for this call</option>
              <option value="tool">Remember for this tool</option>
            </select>
          )}
        </div>
        <p class="nb-quiet nb-said" role="status">
          {broken ? "This is not a JSON object." : said(asked.digest, shown, readable)}
        </p>
      </fieldset>
    );
  }
}

const WORDS = {
  run: { ask: "Run", yes: "Approve", no: "Deny", edit: "Arguments, as JSON", reason: "Reason, if you deny" },
  result: {
    ask: "Let the model read the result of",
    yes: "Release",
    no: "Withhold",
    edit: "Text for the model",
    reason: "Reason, if you withhold",
  },
};

/** What each reference will be when it runs. */
function References({ entries }: { entries: [string, string][] }): JSX.Element | null {
  if (!entries.length) return null;
  return (
    <dl class="nb-refs">
      {entries.map(([key, value]) => (
        <div>
          <dt>{visible(key)}</dt>
          <dd>{visible(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function said(digest: string, { sent, link }: Shown, readable: boolean): string {
  const mine = sent[digest];
  switch (mine?.state) {
    case "sent":
      return "Sent.";
    case "taken":
      return "Taken.";
    case "refused":
      return mine.text;
    case "unheard":
      return UNHEARD;
  }
  if (link === "unheard")
    return "The kernel cannot hear this page while the cell runs: use its interrupt button, or %chat.";
  if (link === "gone") return "The kernel does not answer.";
  return readable ? "" : "Open all of it before you approve.";
}

/** Keep keys inside the card: the notebook must not take them for commands. */
function keep(event: KeyboardEvent): void {
  event.stopPropagation();
}
