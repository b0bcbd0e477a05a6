import { Component, type JSX } from "preact";
import type { Connection } from "../kernel/turn";
import type { Decision } from "../protocol";
import { escapeConfusables } from "../text/confusables";
import { escapeInvisible, plural, singleLine } from "../text/format";
import { answersTo, REASON_HINTS } from "./approval/answers";
import {
  ARM_MS,
  cardClass,
  decisionStatus,
  isDisabled,
  NOT_ARMED,
  type PendingCall,
  pendingCalls,
  questionKey,
  SETTLE_MS,
  TOO_EARLY,
  unopenedLimit,
} from "./approval/pending";
import { Remarks } from "./approval/Remarks";
import { CallSummary } from "./approval/Sentence";
import { stopKeyPropagation } from "./notebookKeys";
import { LongText } from "./text/AppendOnlyText";
import { InlineCode } from "./text/InlineCode";

interface State {
  armed: string;
  /** The question that was clicked before it took clicks. */
  tooEarly: string;
  opened: Record<string, boolean>;
}

/**
 * The pending questions in a plain form: until the card of the second module is loaded, or if it cannot be loaded.
 * It never takes the focus, ignores clicks in its first half second and after each change, and approves nothing before all of it was visible.
 */
export class PlainApproval extends Component<{ connection: Connection }, State> {
  override state: State = { armed: "", tooEarly: "", opened: {} };
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
    const field = document.activeElement?.closest<HTMLElement>(".nb-reason");
    this.props.connection.drafts.focusedDigest = field?.dataset.digest ?? "";
  }

  #arm(): void {
    const key = questionKey(pendingCalls(this.props.connection.state().document));
    if (key === this.#key) return;
    const delay = this.#key ? SETTLE_MS : ARM_MS;
    this.#key = key;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.setState({ armed: key }), delay);
  }

  render(): JSX.Element | null {
    const calls = pendingCalls(this.props.connection.state().document);
    if (!calls.length) return null;
    const armed = this.state.armed === questionKey(calls);
    return (
      <fieldset
        class={cardClass(calls)}
        aria-label="Approval"
        data-lm-suppress-shortcuts="true"
        onKeyDown={stopKeyPropagation}
        onKeyUp={stopKeyPropagation}
      >
        {calls.map((call) => (
          <div key={call.question.digest}>{this.#renderQuestion(call, armed)}</div>
        ))}
      </fieldset>
    );
  }

  #renderQuestion(call: PendingCall, armed: boolean): JSX.Element {
    const { digest, gate, shown, notice, effect } = call.question;
    const hasImages = Boolean(call.question.media);
    const { state, decide, drafts } = this.props.connection;
    const reason = drafts.reasons.get(digest);
    const fullText = escapeConfusables(escapeInvisible([notice, shown, effect].filter(Boolean).join("\n\n")));
    const limit = unopenedLimit(call.question);
    const isReadable = this.state.opened[digest] || fullText.length <= limit;
    const isLocked = isDisabled(digest, state());
    const send = (decision: Decision): void => {
      this.setState({ tooEarly: armed ? "" : digest });
      if (armed) decide(decision);
    };
    const { yes, no } = answersTo(call.question);
    return (
      <>
        <Remarks question={call.question} />
        <CallSummary call={call} />
        <p class="nb-muted">
          <InlineCode text={singleLine(call.question.description, 300)} />
        </p>
        <pre class="nb-code nb-prewrap">
          <LongText text={isReadable ? fullText || "(nothing)" : `${fullText.slice(0, limit)}…`} />
        </pre>
        {hasImages && (
          <p class="nb-muted">Its images cannot be shown yet, and it cannot be released unseen.</p>
        )}
        <div class="nb-row">
          <button
            type="button"
            class="nb-button nb-primary"
            title={armed ? undefined : NOT_ARMED}
            aria-disabled={!armed || undefined}
            disabled={isLocked || !isReadable || hasImages || call.question.is_form}
            onClick={() => send({ kind: yes.kind, digest } as Decision)}
          >
            {yes.label}
          </button>
          <button
            type="button"
            class="nb-button"
            title={armed ? undefined : NOT_ARMED}
            aria-disabled={!armed || undefined}
            disabled={isLocked}
            onClick={() => send({ kind: no.kind, digest, ...(reason && { reason }) } as Decision)}
          >
            {no.label}
          </button>
          {!isReadable && (
            <button
              type="button"
              class="nb-text-button"
              onClick={() => this.setState(({ opened }) => ({ opened: { ...opened, [digest]: true } }))}
            >
              Show all {plural(fullText.length, "character")}
            </button>
          )}
          <input
            class="nb-reason"
            data-digest={digest}
            maxLength={4000}
            placeholder={REASON_HINTS[gate]}
            aria-label={REASON_HINTS[gate]}
            value={reason ?? ""}
            onInput={({ currentTarget }) => {
              drafts.reasons.set(digest, currentTarget.value);
              this.forceUpdate();
            }}
          />
        </div>
        <p class="nb-muted nb-status" role="status">
          {decisionStatus(digest, state()) || (!armed && this.state.tooEarly === digest && TOO_EARLY)}
        </p>
      </>
    );
  }
}
