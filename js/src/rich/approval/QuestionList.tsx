import { Component, createRef, type JSX } from "preact";
import { type Connection, isLive } from "../../kernel/turn";
import { plural, singleLine } from "../../text/format";
import {
  ARM_MS,
  approvalTitle,
  cardClass,
  countCalls,
  isDisabled,
  NOT_ARMED,
  type PendingCall,
  pendingCalls,
  questionKey,
  SETTLE_MS,
  STILL_DRAWING,
  TOO_EARLY,
} from "../../views/approval/pending";
import { focusTurn, stopKeyPropagation } from "../../views/notebookKeys";
import { scrollToCard, setWaiting } from "./attention";
import {
  approveMessage,
  type Draft,
  denyMessage,
  EMPTY_DRAFT,
  isEdited,
  isOneLine,
  isReadable,
} from "./drafts";
import { KeyHint } from "./KeyHint";
import { type Questions, resolvedQuestions } from "./outcomes";
import { PillEntry } from "./pill";
import { Question } from "./Question";
import { decisionNames, verbFor } from "./SignIn";

/** Pixels within which two clicks are at the same place. */
const SAME_PLACE = 10;

interface State {
  /** The set of questions that may be decided: it has been in view for long enough. */
  armed: string;
  /** The set of questions, and of those that are open, that may be approved together. */
  settled: string;
  /**
   * Why the last click for all decided nothing: it came too early, at the place of a decision about one, while a question was
   * being rendered, or before all had been read.
   */
  refusal: "" | "early" | "place" | "drawing" | "unread";
  drafts: Record<string, Draft>;
  /** Questions that were on the card, by digest; the next round's leave no trace of them. */
  questions: Questions;
}

interface Props {
  connection: Pick<Connection, "state" | "decide" | "drafts" | "requestMedia" | "stopCall">;
}

/**
 * All pending questions, on one card. It never takes the focus, and preserves it; it ignores keys and clicks in its first half
 * second, and for longer after a question was decided, added or removed, because a button may have moved under the pointer.
 * The button for all also ignores every click at the place of the last click on a question.
 */
export class Card extends Component<Props, State> {
  override state: State = {
    armed: "",
    settled: "",
    refusal: "",
    drafts: {},
    questions: {},
  };
  #root = createRef<HTMLDivElement>();
  #el = createRef<HTMLFieldSetElement>();
  #timer = 0;
  #key = "";
  #wasArmed = false;
  #settleTimer = 0;
  #settleKey = "";
  #lastClick: { x: number; y: number } | null = null;
  #hadFocus = false;
  #pill = new PillEntry(this.props.connection);

  override componentDidMount(): void {
    this.#arm();
    this.#pill.update(this.#root.current, this.#el.current, this.#calls());
    this.#settle();
    this.#restoreFocus();
  }

  /** Let a person go on in the field where they typed when this card took the place of the plain one. */
  #restoreFocus(): void {
    const { drafts } = this.props.connection;
    const field = [...(this.#el.current?.querySelectorAll<HTMLInputElement>(".nb-reason") ?? [])].find(
      ({ dataset }) => drafts.focusedDigest !== "" && dataset.digest === drafts.focusedDigest,
    );
    drafts.focusedDigest = "";
    field?.focus({ preventScroll: true });
    field?.setSelectionRange(field.value.length, field.value.length);
  }

  override componentDidUpdate(): void {
    this.#arm();
    this.#pill.update(this.#root.current, this.#el.current, this.#calls());
    this.#settle();
    if (!this.#hadFocus || this.#el.current?.contains(document.activeElement)) return;
    const next = this.#el.current?.querySelector<HTMLElement>(".nb-item") ?? this.#el.current;
    if (next) next.focus({ preventScroll: true });
    else focusTurn(this.#root.current?.closest<HTMLElement>(".nb-turn")); // the last question was decided
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#settleTimer);
    setWaiting(this.props.connection, 0);
    this.#pill.remove();
  }

  #calls(): PendingCall[] {
    return pendingCalls(this.props.connection.state().document);
  }

  #arm(): void {
    const calls = this.#calls();
    const key = questionKey(calls);
    if (key === this.#key) return;
    const isNew = this.#key === "";
    this.#key = key;
    if (isLive(this.props.connection.state().document)) {
      setWaiting(this.props.connection, calls.length);
      requestAnimationFrame(
        () => key && !this.#pill.panel && this.#el.current && scrollToCard(this.#el.current),
      );
    }
    clearTimeout(this.#timer);
    const fresh = Object.fromEntries(
      calls.map(({ id, round, question }) => [question.digest, { id, round, tool: question.tool }]),
    );
    this.setState(({ questions }) => ({ questions: isNew && key ? fresh : { ...questions, ...fresh } }));
    const delay = this.#wasArmed ? SETTLE_MS : ARM_MS;
    this.#timer = window.setTimeout(() => {
      this.#wasArmed = true;
      this.setState({ armed: key });
    }, delay);
  }

  /** Allow the approval of all some time after a question was decided, added or removed. */
  #settle(): void {
    const key = this.#settleKeyNow();
    if (key === this.#settleKey) return;
    const delay = this.#settleKey === "" ? ARM_MS : SETTLE_MS;
    this.#settleKey = key;
    clearTimeout(this.#settleTimer);
    this.#settleTimer = window.setTimeout(
      () => this.setState(({ refusal }) => ({ settled: key, refusal: refusal === "place" ? "" : refusal })),
      delay,
    );
  }

  /** Identifies the questions on the card and those that are open; empty without any. */
  #settleKeyNow(): string {
    const calls = this.#calls();
    return calls.length ? `${questionKey(calls)} ${questionKey(this.#openCalls())}` : "";
  }

  /** The calls whose decision is not on its way. */
  #openCalls(): PendingCall[] {
    const state = this.props.connection.state();
    return this.#calls().filter(({ question }) => !isDisabled(question.digest, state));
  }

  /** Remember where a question was clicked. A click by a key has no place. */
  #rememberClick = ({ target, detail, clientX, clientY }: MouseEvent): void => {
    const isOnQuestion = target instanceof Element && target.closest(".nb-item");
    if (isOnQuestion && detail > 0) this.#lastClick = { x: clientX, y: clientY };
  };

  #isAtLastClick({ detail, clientX, clientY }: MouseEvent): boolean {
    const last = this.#lastClick;
    if (!last || detail === 0) return false;
    return Math.hypot(clientX - last.x, clientY - last.y) < SAME_PLACE;
  }

  #changeDraft(digest: string, change: Partial<Draft>): void {
    this.setState(({ drafts }) => ({
      drafts: { ...drafts, [digest]: { ...(drafts[digest] ?? this.#initialDraft(digest)), ...change } },
    }));
  }

  /** A draft as it begins: with the reason that was typed on another card, and what a person wrote that does not fit. */
  #initialDraft(digest: string): Draft {
    const reason = this.props.connection.drafts.reasons.get(digest) ?? "";
    const question = this.#calls().find((call) => call.question.digest === digest)?.question;
    const edited = question?.again?.edited;
    const isEditing = Boolean(edited || (question?.is_form && question.sign_in === undefined));
    return { ...EMPTY_DRAFT, reason, isEditing, ...(edited && { text: edited }) };
  }

  #approveAll(calls: readonly PendingCall[], event: MouseEvent): void {
    const refusal = this.#refusalOf(calls, event);
    this.setState({ refusal });
    if (refusal) return;
    for (const call of calls) this.props.connection.decide(approveMessage(call, this.#draft(call)));
  }

  /** Why a click does not approve all; the first call that was not read comes into view. */
  #refusalOf(calls: readonly PendingCall[], event: MouseEvent): State["refusal"] {
    if (!this.#isArmed() || this.state.settled !== this.#settleKeyNow()) return "early";
    if (this.#isAtLastClick(event)) return "place";
    const unread = this.#unread(calls)[0];
    if (unread) {
      const items = this.#el.current?.querySelectorAll(".nb-item");
      items?.[this.#calls().indexOf(unread)]?.scrollIntoView({ block: "nearest" });
      return "unread";
    }
    return this.#el.current?.querySelector("[aria-busy=true]") ? "drawing" : "";
  }

  #denyAll(calls: readonly PendingCall[]): void {
    this.setState({ refusal: this.#isArmed() ? "" : "early" });
    if (!this.#isArmed()) return;
    for (const call of calls) this.props.connection.decide(denyMessage(call, this.#draft(call).reason));
  }

  #isArmed(): boolean {
    return this.state.armed === questionKey(this.#calls());
  }

  /** The calls that a person has not had before their eyes. */
  #unread(calls: readonly PendingCall[]): PendingCall[] {
    return calls.filter((call) => !this.#draft(call).isSeen || !isReadable(call, this.#draft(call)));
  }

  #draft({ question }: PendingCall): Draft {
    return this.state.drafts[question.digest] ?? this.#initialDraft(question.digest);
  }

  render(): JSX.Element {
    const state = this.props.connection.state();
    const calls = this.#calls();
    const resolved = resolvedQuestions(this.state.questions, state.document);
    this.#hadFocus = this.#el.current?.contains(document.activeElement) ?? false;
    return (
      <div ref={this.#root}>
        <p class="nb-visually-hidden" role="status">
          {calls.length > 0
            ? `${approvalTitle(calls)} for ${plural(calls.length, "call")}: ${toolNames(calls)}.`
            : resolved.map(({ line }) => line).join(" ")}
        </p>
        {calls.length > 0 && (
          <fieldset
            ref={this.#el}
            class={cardClass(calls)}
            aria-label="Approval"
            tabIndex={-1}
            data-lm-suppress-shortcuts="true"
            onClickCapture={this.#rememberClick}
            onKeyDown={stopKeyPropagation}
            onKeyUp={stopKeyPropagation}
            onKeyPress={stopKeyPropagation}
          >
            {this.#renderHead(calls)}
            {resolved.map(({ digest, line }) => (
              <p key={digest} class="nb-outcome nb-muted">
                {line}
              </p>
            ))}
            {calls.map((call) => (
              <Question
                key={call.question.digest}
                call={call}
                draft={this.#draft(call)}
                state={state}
                isArmed={this.#isArmed()}
                isOneOfSeveral={calls.length > 1}
                isCompact={calls.length > 1 && isOneLine(call) && !this.#draft(call).isExpanded}
                change={(change) => this.#changeDraft(call.question.digest, change)}
                decide={this.props.connection.decide}
                requestMedia={this.props.connection.requestMedia}
                stopCall={this.props.connection.stopCall}
              />
            ))}
            <Deadline answerBy={state.document.head.answer_by} />
            {calls.length > 1 && <KeyHint where="Only the marked call" {...decisionNames(calls)} />}
          </fieldset>
        )}
      </div>
    );
  }

  #renderHead(calls: PendingCall[]): JSX.Element | null {
    const open = this.#openCalls();
    if (calls.length === 1) return null;
    return (
      <div class="nb-card-head">
        <p class="nb-card-title">{countCalls(calls)} wait for you</p>
        {open.length > 1 && this.#renderBulkButtons(open)}
      </div>
    );
  }

  /** The buttons for all questions; a sensitive one is approved by itself. */
  #renderBulkButtons(calls: PendingCall[]): JSX.Element {
    const alone = calls.filter(({ question }) => question.sensitive);
    const together = calls.filter(({ question }) => !question.sensitive);
    const unread = this.#unread(together);
    const isBroken = together.some((call) => Object.keys(this.#draft(call).problems).length);
    const edited = together.filter((call) => isEdited(call, this.#draft(call))).length;
    const isArmed = this.#isArmed();
    const isSettled = this.state.settled === this.#settleKeyNow();
    const names = alone.map(({ question }) => singleLine(question.tool, 60)).join(", ");
    return (
      <span class="nb-row">
        <span class="nb-muted" role="status">
          {
            {
              "": "",
              early: isArmed && isSettled ? "" : TOO_EARLY,
              place: "You clicked a question at this place: move the pointer, then click again.",
              drawing: STILL_DRAWING,
              unread: unread.length ? `${countCalls(unread)} not fully shown yet` : "",
            }[this.state.refusal]
          }
        </span>
        {names && (
          <span class="nb-muted">
            <code>{names}</code> is decided by itself
          </span>
        )}
        {together.length > 1 && (
          <button
            type="button"
            class="nb-button nb-primary"
            title={isArmed && isSettled ? undefined : NOT_ARMED}
            disabled={isBroken}
            aria-disabled={!isArmed || !isSettled || undefined}
            onClick={(event) => this.#approveAll(together, event)}
          >
            {verbFor(together, "yes")} all {together.length}
            {edited > 0 && `, ${edited} as edited`}
          </button>
        )}
        <button
          type="button"
          class="nb-button"
          title={isArmed ? undefined : NOT_ARMED}
          aria-disabled={!isArmed || undefined}
          onClick={() => this.#denyAll(calls)}
        >
          {verbFor(calls, "no")} all {calls.length}
        </button>
      </span>
    );
  }
}

/** When what waits is denied, if there is such a time. */
function Deadline({ answerBy }: { answerBy: number | undefined }): JSX.Element | null {
  if (answerBy === undefined) return null;
  const end = new Date(answerBy * 1000);
  const isToday = end.toDateString() === new Date().toDateString();
  const time = end.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const day = isToday
    ? ""
    : `${end.toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" })}, `;
  return <p class="nb-deadline nb-muted nb-small">{`Denied at ${day}${time} if nobody answers`}</p>;
}

function toolNames(calls: PendingCall[]): string {
  return calls
    .map(
      ({ question }) =>
        `${singleLine(question.tool, 60)}${question.sensitive && !question.is_form ? " (sensitive)" : ""}`,
    )
    .join(", ");
}
