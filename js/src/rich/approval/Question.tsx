import { Component, createRef, type JSX } from "preact";
import type { TurnState } from "../../kernel/turn";
import type { Decision } from "../../protocol";
import { parseObject, plural, singleLine } from "../../text/format";
import { APPROVE_KEYS, answersTo, DENY_KEYS, REASON_HINTS } from "../../views/approval/answers";
import {
  decisionStatus,
  isDisabled,
  MAX_UNOPENED_CHARS,
  NOT_ARMED,
  type PendingCall,
  recipientOf,
  STILL_DRAWING,
  TOO_EARLY,
} from "../../views/approval/pending";
import { Remarks } from "../../views/approval/Remarks";
import { CallSummary } from "../../views/approval/Sentence";
import { MediaList } from "../../views/MediaList";
import { InlineCode } from "../../views/text/InlineCode";
import { Effect } from "./Diff";
import { approveMessage, type Draft, denyMessage, isEdited, isReadable } from "./drafts";
import { summarizeEdited } from "./editedArguments";
import { KeyHint, keysText } from "./KeyHint";
import { Body, contentSize, Edit } from "./QuestionBody";
import { REMEMBER_LABELS, rememberChoices, rememberWarning } from "./remember";
import { canOpen, openSignIn, SignInAddress } from "./SignIn";

/** What an edit is written in: the fields of a call, or the text of a result. */
const FIELDS = ".nb-fields :is(textarea,input,select),textarea";

/** Why a card looks like a warning: the author of the tool, nbtool itself or the policy of the administrator wants it so. */
const WHY_SENSITIVE = "Sensitive: you are asked every time, and no decision is remembered.";

interface Props {
  call: PendingCall;
  draft: Draft;
  state: TurnState;
  isArmed: boolean;
  isOneOfSeveral: boolean;
  /** Whether it is one line of several. */
  isCompact: boolean;
  change: (change: Partial<Draft>) => void;
  decide: (decision: Decision) => void;
  requestMedia: ((key: string) => void) | undefined;
  stopCall: (callId: string) => void;
}

/** One question: what will happen, in full, and the possible decisions. */
export class Question extends Component<Props, { isBeingDrawn: boolean; isTooEarly: boolean }> {
  override state = { isBeingDrawn: false, isTooEarly: false };
  #el = createRef<HTMLFieldSetElement>();
  #end = createRef<HTMLDivElement>();
  #observer: IntersectionObserver | null = null;
  /** What gets the focus once it is there: a person chose to write in it. */
  #focusNext = "";

  override componentDidMount(): void {
    if (!this.#end.current) return;
    this.#observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) this.props.change({ isSeen: true });
    });
    this.#observer.observe(this.#end.current);
  }

  /** Scroll to what was opened, and move the focus of a person who chose to edit to what can be edited. */
  override componentDidUpdate({ draft: { isExpanded, isEditing } }: Props): void {
    const { draft } = this.props;
    if ((draft.isExpanded && !isExpanded) || (draft.isEditing && !isEditing))
      requestAnimationFrame(() => this.#el.current?.scrollIntoView({ block: "nearest" }));
    const field = this.#focusNext && this.#el.current?.querySelector<HTMLElement>(this.#focusNext);
    if (!field) return;
    this.#focusNext = "";
    field.focus();
  }

  override componentWillUnmount(): void {
    this.#observer?.disconnect();
  }

  /** Whether a click counts yet; one that comes too early says so. */
  #isTaken(): boolean {
    this.setState({ isTooEarly: !this.props.isArmed });
    return this.props.isArmed;
  }

  #approve = (): void => {
    const { call, draft, decide } = this.props;
    if (!this.#isTaken() || !this.#canApprove()) return;
    const isBeingDrawn = Boolean(this.#el.current?.querySelector("[aria-busy=true]"));
    this.setState({ isBeingDrawn });
    if (isBeingDrawn) return; // what is not rendered yet was not read
    this.#el.current?.focus({ preventScroll: true });
    this.props.change({ sentText: draft.text });
    openSignIn(call.question);
    decide(approveMessage(call, draft));
  };

  #deny = (): void => {
    const { call, draft, state, decide } = this.props;
    if (!this.#isTaken() || isDisabled(call.question.digest, state)) return;
    this.#el.current?.focus({ preventScroll: true });
    decide(denyMessage(call, draft.reason));
  };

  /** Whether it can be approved in its current state. */
  #canApprove(): boolean {
    const { call, draft, state } = this.props;
    const isValid = !Object.keys(draft.problems).length && canOpen(call.question);
    return isValid && isReadable(call, draft) && !isDisabled(call.question.digest, state);
  }

  #onKeyDown = (event: KeyboardEvent): void => {
    const { key, target, ctrlKey, metaKey, shiftKey, repeat } = event;
    if (key === "Escape") this.#el.current?.focus({ preventScroll: true });
    if (key !== "Enter") return;
    const isReason = target instanceof Element && target.matches(".nb-reason");
    const hasControl = ctrlKey || metaKey;
    if (repeat) event.preventDefault();
    else if (isReason || (hasControl && shiftKey)) {
      event.preventDefault();
      this.#deny();
    } else if (hasControl || target === this.#el.current) {
      event.preventDefault();
      this.#approve();
    }
  };

  #open = (): void => {
    this.#el.current?.focus({ preventScroll: true });
    this.props.change({ isOpened: true });
  };

  #toggleEditor = (): void => {
    const { isEditing, text } = this.props.draft;
    const isUndone = isEditing || text !== null;
    this.#focusNext = isUndone ? "" : FIELDS;
    this.props.change(isUndone ? { isEditing: false, text: null, problems: {} } : { isEditing: true });
  };

  render(): JSX.Element {
    const { call, draft, state, isArmed, isCompact, isOneOfSeveral } = this.props;
    const { digest, gate, is_form, tool } = call.question;
    const { yes, no } = answersTo(call.question);
    const readable = isReadable(call, draft);
    const status =
      (!isCorrected(digest, state, draft) && decisionStatus(digest, state)) ||
      (this.state.isTooEarly && !isArmed && TOO_EARLY) ||
      (this.state.isBeingDrawn ? STILL_DRAWING : hintFor(call, draft, readable));
    return (
      <fieldset
        ref={this.#el}
        class={isCompact ? "nb-item nb-compact" : "nb-item"}
        tabIndex={-1}
        aria-label={`${is_form ? "Input:" : gate === "run" ? "Run" : "Result of"} ${singleLine(tool, 80)}`}
        onKeyDown={this.#onKeyDown}
      >
        {call.question.sensitive && !is_form && <p class="nb-muted">{WHY_SENSITIVE}</p>}
        {isCompact ? <CallSummary call={call} /> : this.#renderBody(readable)}
        <div ref={this.#end} />
        {!readable && (
          <button type="button" class="nb-text-button" onClick={this.#open}>
            Show all {contentSize(call)}
          </button>
        )}
        {this.#renderButtons(readable)}
        <div class="nb-question-foot">
          <p class="nb-muted nb-status" role="status">
            {status}
          </p>
          {!isCompact && (
            <KeyHint
              where={isOneOfSeveral ? "This call" : ""}
              yes={yes.label.toLowerCase()}
              no={no.label.toLowerCase()}
            />
          )}
        </div>
        {!isCompact && <Edit call={call} draft={draft} change={this.props.change} />}
      </fieldset>
    );
  }

  #renderBody(readable: boolean): JSX.Element {
    const { call, draft, state, change, requestMedia } = this.props;
    const { description, media, notice, sign_in } = call.question;
    const edited = isEdited(call, draft);
    return (
      <>
        <Remarks question={call.question} isEditedAgain={isInvalidEditChanged(call, draft)} />
        {notice && (
          <section aria-label="Read this first">
            <Effect text={readable ? notice : `${notice.slice(0, MAX_UNOPENED_CHARS)}…`} />
          </section>
        )}
        <CallSummary
          call={call}
          edited={
            edited && !call.question.is_form ? summarizeEdited(call.question, `${draft.text}`) : undefined
          }
        />
        {sign_in !== undefined && <SignInAddress address={sign_in} />}
        {description && (
          <p class="nb-muted nb-description">
            <InlineCode text={singleLine(description, 300)} />
          </p>
        )}
        <Body {...{ call, draft, readable, change }} />
        {media && <MediaList media={media} bytes={state.media} requestMedia={requestMedia} />}
        {media && edited && (
          <p class="nb-muted">
            Only the edited text is sent to {recipientOf(call.question)}, without the{" "}
            {plural(media.length, "image")}.
          </p>
        )}
      </>
    );
  }

  #renderButtons(readable: boolean): JSX.Element {
    const { call, draft, state, isArmed, isCompact } = this.props;
    const { digest, is_form } = call.question;
    const { yes, no } = answersTo(call.question);
    const primary = draft.reason ? no : yes;
    const buttonClass = (answer: typeof yes): string =>
      answer === primary && !isCompact ? "nb-button nb-primary" : "nb-button";
    return (
      <div class="nb-row">
        <button
          type="button"
          class={buttonClass(yes)}
          title={isArmed ? `${yes.label} (${keysText(APPROVE_KEYS)})` : NOT_ARMED}
          aria-keyshortcuts={APPROVE_KEYS}
          disabled={!this.#canApprove()}
          aria-disabled={!isArmed || undefined}
          onClick={this.#approve}
        >
          {yes.label}
          {isEdited(call, draft) ? !is_form && " as edited" : REMEMBER_LABELS[draft.remember]}
        </button>
        <button
          type="button"
          class={buttonClass(no)}
          title={isArmed ? `${no.label} (${keysText(DENY_KEYS)}, or Enter in the reason)` : NOT_ARMED}
          aria-keyshortcuts={DENY_KEYS}
          disabled={isDisabled(digest, state)}
          aria-disabled={!isArmed || undefined}
          onClick={this.#deny}
        >
          {no.label}
        </button>
        {isCompact ? (
          <>
            {this.#renderOpener(is_form ? "Fill in" : "Edit…", { isEditing: true }, FIELDS)}
            {!is_form && this.#renderOpener("Reason…", {}, ".nb-reason")}
          </>
        ) : (
          this.#renderFields(readable)
        )}
      </div>
    );
  }

  /** The button that opens all of one line of several, for what a person wants to write in a field of it. */
  #renderOpener(label: string, change: Partial<Draft>, field: string): JSX.Element {
    const open = (): void => {
      this.#focusNext = field;
      this.props.change({ isExpanded: true, ...change });
    };
    return (
      <button type="button" class="nb-text-button" onClick={open}>
        {label}
      </button>
    );
  }

  /** What goes with a decision: an edit, a reason, and for how long it is remembered. */
  #renderFields(readable: boolean): JSX.Element | null {
    const { call, draft, change } = this.props;
    const { gate, can_remember, can_remember_call, digest, is_form, shown, sign_in, tool } = call.question;
    const reason = REASON_HINTS[gate];
    const canRemember = gate === "run" && can_remember;
    const edited = isEdited(call, draft);
    if (sign_in !== undefined) return null;
    if (is_form)
      return (
        <button type="button" class="nb-text-button" onClick={() => this.props.stopCall(call.call_id)}>
          Cancel
        </button>
      );
    return (
      <>
        {(gate === "result" || parseObject(shown)) && (
          <button type="button" class="nb-button" disabled={!readable} onClick={this.#toggleEditor}>
            {draft.isEditing || draft.text !== null ? "Undo the edit" : "Edit"}
          </button>
        )}
        <input
          class="nb-reason"
          data-digest={digest}
          maxLength={4000}
          placeholder={reason}
          aria-label={reason}
          value={draft.reason}
          onInput={({ currentTarget }) => change({ reason: currentTarget.value })}
        />
        {canRemember && edited && <span class="nb-muted nb-small">An edited call is not remembered.</span>}
        {canRemember && !edited && (
          <select
            aria-label="Remember the decision"
            value={draft.remember}
            onChange={({ currentTarget }) => change({ remember: currentTarget.value as Draft["remember"] })}
          >
            {rememberChoices(can_remember_call !== false, tool).map(([scope, label]) => (
              <option key={scope} value={scope}>
                {label}
              </option>
            ))}
          </select>
        )}
        {canRemember && !edited && draft.remember === "tool" && (
          <p class="nb-notice nb-warning nb-remember-warning" role="alert">
            {rememberWarning(can_remember_call !== false, tool)}
          </p>
        )}
      </>
    );
  }
}

/** Whether the arguments differ from those that did not fit, so that their problem is obsolete. */
function isInvalidEditChanged({ question: { again } }: PendingCall, { text }: Draft): boolean {
  return again?.reason === "invalid" && text !== again.edited;
}

/** Whether a decision was refused, and a person has edited since. */
function isCorrected(digest: string, { requests }: TurnState, draft: Draft): boolean {
  return (
    requests[digest]?.state === "refused" && draft.sentText !== undefined && draft.sentText !== draft.text
  );
}

function hintFor(call: PendingCall, draft: Draft, readable: boolean): string {
  const { question } = call;
  const { problems, remember } = draft;
  if (Object.keys(problems).length)
    return question.is_form
      ? "Fill in what is marked, then send."
      : "Correct the marked arguments, then approve.";
  if (!readable) return "Show all of it before you approve.";
  return remember && !isEdited(call, draft)
    ? "%chat approvals lists what is remembered, and takes it back."
    : "";
}
