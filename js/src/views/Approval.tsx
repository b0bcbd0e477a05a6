import { Component, type JSX } from "preact";
import type { Connection } from "../kernel/turn";
import { unmasked } from "../text/confusables";
import { counted, longArguments, oneLine, visible } from "../text/format";
import { LongText } from "./AppendOnlyText";
import { ARM_MS, isShut, keyOf, LONG, standing, type Waiting, waitingCalls } from "./approval/pending";
import { Remarks } from "./approval/Remarks";
import { Sentence } from "./approval/Sentence";
import { keep } from "./keyboard";
import { Pictures } from "./MediaList";

interface State {
  armed: string;
  opened: Record<string, boolean>;
}

/**
 * The questions that wait, as plain as can be: until the card of the rich module is there, and where it never comes.
 * It never takes the focus, hears no click in its first half second, and allows nothing before all of it was in view.
 */
export class Approval extends Component<{ connection: Connection }, State> {
  override state: State = { armed: "", opened: {} };
  #timer = 0;
  #key = "";

  override componentDidMount(): void {
    this.#arm();
  }

  override componentDidUpdate(): void {
    this.#arm();
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
    const at = document.activeElement?.closest<HTMLElement>(".nb-reason");
    this.props.connection.typed.at = at?.dataset.digest ?? "";
  }

  #arm(): void {
    const key = keyOf(waitingCalls(this.props.connection.shown().document));
    if (key === this.#key) return;
    this.#key = key;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.setState({ armed: key }), ARM_MS);
  }

  render(): JSX.Element | null {
    const calls = waitingCalls(this.props.connection.shown().document);
    if (!calls.length) return null;
    const armed = this.state.armed === keyOf(calls);
    return (
      <fieldset
        class="nb-card"
        aria-label="Approval"
        data-lm-suppress-shortcuts="true"
        onKeyDown={keep}
        onKeyUp={keep}
      >
        <p class="nb-asks">nbtool asks</p>
        {calls.map((call) => (
          <div key={call.question.digest}>{this.#question(call, armed)}</div>
        ))}
      </fieldset>
    );
  }

  #question(call: Waiting, armed: boolean): JSX.Element {
    const { digest, gate, shown: asked, notice, effect } = call.question;
    const { shown, decide, look, typed } = this.props.connection;
    const reason = typed.reasons.get(digest);
    const parts = [
      notice && visible(notice),
      (gate === "run" ? longArguments : visible)(asked),
      effect && visible(effect),
    ];
    const full = unmasked(parts.filter(Boolean).join("\n\n"));
    const readable = this.state.opened[digest] || full.length <= LONG;
    const shut = !armed || isShut(digest, shown());
    const words = WORDS[gate];
    return (
      <>
        <Remarks question={call.question} />
        <Sentence call={call} />
        <p class="nb-quiet">{oneLine(call.question.description, 300)}</p>
        <pre class="nb-code nb-prewrap">
          <LongText text={readable ? full || "(nothing)" : `${full.slice(0, LONG)}…`} />
        </pre>
        {call.question.media && <Pictures media={call.question.media} bytes={shown().media} look={look} />}
        <div class="nb-row">
          <button
            type="button"
            class="nb-button nb-yes"
            disabled={shut || !readable}
            onClick={() => decide({ kind: gate === "run" ? "approve" : "release", digest })}
          >
            {words.yes}
          </button>
          <button
            type="button"
            class="nb-button"
            disabled={shut}
            onClick={() =>
              decide({ kind: gate === "run" ? "deny" : "withhold", digest, ...(reason && { reason }) })
            }
          >
            {words.no}
          </button>
          {!readable && (
            <button
              type="button"
              class="nb-plain"
              onClick={() => this.setState(({ opened }) => ({ opened: { ...opened, [digest]: true } }))}
            >
              Show all {counted(full.length, "character")}
            </button>
          )}
          <input
            class="nb-reason"
            data-digest={digest}
            maxLength={4000}
            placeholder={words.reason}
            aria-label={words.reason}
            value={reason ?? ""}
            onInput={({ currentTarget }) => {
              typed.reasons.set(digest, currentTarget.value);
              this.forceUpdate();
            }}
          />
        </div>
        <p class="nb-quiet nb-said" role="status">
          {standing(digest, shown())}
        </p>
      </>
    );
  }
}

/** The words of each gate. */
export const WORDS = {
  run: { yes: "Approve", no: "Deny", reason: "Reason, if you deny" },
  result: { yes: "Release", no: "Withhold", reason: "Reason, if you withhold" },
};
