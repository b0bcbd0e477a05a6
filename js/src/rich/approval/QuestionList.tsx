import { Component, createRef, type JSX } from "preact";
import { type Connection, isLive, type TurnState } from "../../kernel/turn";
import type { Block } from "../../protocol";
import { CALL_STATE_LABELS, decisionLine, plural, singleLine } from "../../text/format";
import {
  ARM_MS,
  approvalTitle,
  cardClass,
  isDisabled,
  type PendingCall,
  pendingCalls,
  questionKey,
  STILL_DRAWING,
} from "../../views/approval/pending";
import { stopKeyPropagation } from "../../views/keyboard";
import { scrollToCard, setWaiting } from "./attention";
import { approveMessage, type Draft, denyMessage, EMPTY_DRAFT, isOneLine, isReadable } from "./drafts";
import { Question } from "./Question";

interface State {
  /** The set of questions that may be decided: it has been in view for half a second. */
  armed: string;
  /** Whether an approval was refused because a question was still being rendered. */
  isBeingDrawn: boolean;
  /** Whether all were to be approved when some had not been read. */
  isUnread: boolean;
  drafts: Record<string, Draft>;
  /** Questions that were on the card, by digest; the next round's leave no trace of them. */
  questions: Record<string, { id: string; tool: string; round: number }>;
}

interface Props {
  connection: Pick<Connection, "state" | "decide" | "drafts" | "requestMedia">;
}

/**
 * All pending questions, on one card. It never takes the focus, and preserves it; it ignores keys and clicks in its first half
 * second, and in the half second after a question was added or removed.
 */
export class Card extends Component<Props, State> {
  override state: State = { armed: "", isBeingDrawn: false, isUnread: false, drafts: {}, questions: {} };
  #el = createRef<HTMLFieldSetElement>();
  #timer = 0;
  #key = "";
  #hadFocus = false;

  override componentDidMount(): void {
    this.#arm();
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
    if (!this.#hadFocus || this.#el.current?.contains(document.activeElement)) return;
    const next = this.#el.current?.querySelector<HTMLElement>(".nb-item") ?? this.#el.current;
    next?.focus({ preventScroll: true });
  }

  override componentWillUnmount(): void {
    clearTimeout(this.#timer);
    setWaiting(this.props.connection, 0);
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
      requestAnimationFrame(() => key && this.#el.current && scrollToCard(this.#el.current));
    }
    clearTimeout(this.#timer);
    const fresh = Object.fromEntries(
      calls.map(({ id, round, question }) => [question.digest, { id, round, tool: question.tool }]),
    );
    this.setState(({ questions }) => ({ questions: isNew && key ? fresh : { ...questions, ...fresh } }));
    this.#timer = window.setTimeout(() => this.setState({ armed: key }), ARM_MS);
  }

  #changeDraft(digest: string, change: Partial<Draft>): void {
    this.setState(({ drafts }) => ({
      drafts: { ...drafts, [digest]: { ...(drafts[digest] ?? this.#initialDraft(digest)), ...change } },
    }));
  }

  /** A draft as it begins: with the reason that was typed on another card, and what a person wrote that does not fit. */
  #initialDraft(digest: string): Draft {
    const reason = this.props.connection.drafts.reasons.get(digest) ?? "";
    const edited = this.#calls().find(({ question }) => question.digest === digest)?.question.again?.edited;
    return { ...EMPTY_DRAFT, reason, ...(edited && { isEditing: true, text: edited }) };
  }

  #approveAll(calls: readonly PendingCall[]): void {
    const isBeingDrawn = Boolean(this.#el.current?.querySelector("[aria-busy=true]"));
    const unread = this.#unread(calls)[0];
    this.setState({ isBeingDrawn, isUnread: Boolean(unread) });
    if (unread) {
      const items = this.#el.current?.querySelectorAll(".nb-item");
      items?.[this.#calls().indexOf(unread)]?.scrollIntoView({ block: "nearest" });
    }
    if (unread || isBeingDrawn) return; // what is not rendered yet was not read
    for (const call of calls) this.props.connection.decide(approveMessage(call, this.#draft(call)));
  }

  #denyAll(calls: readonly PendingCall[]): void {
    for (const call of calls) this.props.connection.decide(denyMessage(call, this.#draft(call).reason));
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
    const resolved = this.#resolvedQuestions(state);
    this.#hadFocus = this.#el.current?.contains(document.activeElement) ?? false;
    const isVisible = calls.length > 0 || resolved.some(({ elsewhere }) => elsewhere);
    return (
      <div>
        <p class="nb-visually-hidden" role="status">
          {calls.length > 0
            ? `${approvalTitle(calls)} for ${plural(calls.length, "call")}: ${toolNames(calls)}.`
            : resolved.map(({ line }) => line).join(" ")}
        </p>
        {isVisible && (
          <fieldset
            ref={this.#el}
            class={cardClass(calls)}
            aria-label="Approval"
            tabIndex={-1}
            data-lm-suppress-shortcuts="true"
            onKeyDown={stopKeyPropagation}
            onKeyUp={stopKeyPropagation}
            onKeyPress={stopKeyPropagation}
          >
            {this.#renderHead(calls, state)}
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
                isArmed={this.state.armed === questionKey(calls)}
                isCompact={calls.length > 1 && isOneLine(call) && !this.#draft(call).isExpanded}
                change={(change) => this.#changeDraft(call.question.digest, change)}
                decide={this.props.connection.decide}
                requestMedia={this.props.connection.requestMedia}
              />
            ))}
          </fieldset>
        )}
      </div>
    );
  }

  #renderHead(calls: PendingCall[], shown: TurnState): JSX.Element | null {
    const open = calls.filter(({ question }) => !isDisabled(question.digest, shown));
    if (calls.length === 1) return null;
    return (
      <div class="nb-card-head">
        <p class="nb-card-title">{calls.length ? `${calls.length} calls wait for you` : "Decided"}</p>
        {open.length > 1 && this.#renderBulkButtons(open)}
      </div>
    );
  }

  /** The buttons for all questions; a sensitive one is approved by itself. */
  #renderBulkButtons(calls: PendingCall[]): JSX.Element {
    const alone = calls.filter(({ question }) => question.sensitive);
    const together = calls.filter(({ question }) => !question.sensitive);
    const unread = this.state.isUnread ? this.#unread(together).length : 0;
    const isBroken = together.some((call) => Object.keys(this.#draft(call).problems).length);
    const isArmed = this.state.armed === this.#key;
    const verb = calls.every(({ question }) => question.gate === "result") ? "Release" : "Approve";
    const names = alone.map(({ question }) => singleLine(question.tool, 60)).join(", ");
    return (
      <span class="nb-row">
        {this.state.isBeingDrawn && <span class="nb-muted">{STILL_DRAWING}</span>}
        {unread > 0 && (
          <span class="nb-muted" role="status">
            {plural(unread, "call")} not fully shown yet
          </span>
        )}
        {names && (
          <span class="nb-muted">
            <code>{names}</code> is decided by itself
          </span>
        )}
        {together.length > 1 && (
          <button
            type="button"
            class="nb-button nb-primary"
            disabled={!isArmed || isBroken}
            onClick={() => this.#approveAll(together)}
          >
            {verb} all {together.length}
          </button>
        )}
        <button type="button" class="nb-button" disabled={!isArmed} onClick={() => this.#denyAll(calls)}>
          Deny all
        </button>
      </span>
    );
  }

  /** The outcomes of the former questions; `elsewhere` if they were not decided on this page. */
  #resolvedQuestions({
    document,
    requests,
  }: TurnState): { digest: string; line: string; elsewhere: boolean }[] {
    const pending = new Set(pendingCalls(document).map(({ question }) => question.digest));
    return Object.entries(this.state.questions)
      .filter(([digest, { round }]) => !pending.has(digest) && round >= document.head.round)
      .map(([digest, { id, tool }]) => {
        const line = outcomeText(
          digest,
          document.blocks.find((block) => block.id === id),
        );
        return {
          digest,
          line: `${singleLine(tool, 60)}: ${line}`,
          elsewhere: !["sent", "accepted"].includes(requests[digest]?.state ?? ""),
        };
      });
  }
}

function outcomeText(digest: string, block: Block | undefined): string {
  if (block?.kind !== "call") return "withdrawn.";
  const decision = block.decisions.find((one) => one.digest === digest);
  if (decision?.by === "expired") return "denied, because nobody decided in time.";
  return decision ? `${decisionLine(decision)}.` : `${CALL_STATE_LABELS[block.state][1]}; withdrawn.`;
}

function toolNames(calls: PendingCall[]): string {
  return calls.map(({ question }) => singleLine(question.tool, 60)).join(", ");
}
