import { Component, createRef, type JSX } from "preact";
import type { Connection, Shown } from "../../kernel/turn";
import type { Block } from "../../protocol";
import { counted, decisionLine, oneLine, STATES } from "../../text/format";
import { ARM_MS, isShut, keyOf, type Waiting, waitingCalls } from "../../views/approval/pending";
import { keep } from "../../views/keyboard";
import { agreement, type Draft, isReadable, NEW, refusal } from "./drafts";
import { Item } from "./Question";

interface State {
  /** The set of questions that may be decided: it has been in view for half a second. */
  armed: string;
  drafts: Record<string, Draft>;
  /** Questions that were on the card, by digest; the next round's leave no trace of them. */
  asked: Record<string, { id: string; tool: string; round: number }>;
}

interface Props {
  connection: Pick<Connection, "shown" | "decide" | "typed" | "look">;
}

/**
 * All questions that wait, on one card. It never takes the focus, and keeps it where a person had it; it hears nothing
 * in its first half second, nor in the half second after a question came or went.
 */
export class Card extends Component<Props, State> {
  override state: State = { armed: "", drafts: {}, asked: {} };
  #el = createRef<HTMLFieldSetElement>();
  #timer = 0;
  #key = "";
  #hadFocus = false;

  override componentDidMount(): void {
    this.#arm();
    this.#goOn();
  }

  /** Let a person go on in the field where they typed when this card took the place of the plain one. */
  #goOn(): void {
    const { typed } = this.props.connection;
    const field = [...(this.#el.current?.querySelectorAll<HTMLInputElement>(".nb-reason") ?? [])].find(
      ({ dataset }) => typed.at !== "" && dataset.digest === typed.at,
    );
    typed.at = "";
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
  }

  #calls(): Waiting[] {
    return waitingCalls(this.props.connection.shown().document);
  }

  #arm(): void {
    const calls = this.#calls();
    const key = keyOf(calls);
    if (key === this.#key) return;
    const isNew = this.#key === "";
    this.#key = key;
    clearTimeout(this.#timer);
    const fresh = Object.fromEntries(
      calls.map(({ id, round, question }) => [question.digest, { id, round, tool: question.tool }]),
    );
    this.setState(({ asked }) => ({ asked: isNew && key ? fresh : { ...asked, ...fresh } }));
    this.#timer = window.setTimeout(() => this.setState({ armed: key }), ARM_MS);
  }

  #change(digest: string, change: Partial<Draft>): void {
    this.setState(({ drafts }) => ({
      drafts: { ...drafts, [digest]: { ...(drafts[digest] ?? this.#begun(digest)), ...change } },
    }));
  }

  /** A draft as it begins: with the reason that was typed on another card, and what a person wrote that does not fit. */
  #begun(digest: string): Draft {
    const reason = this.props.connection.typed.reasons.get(digest) ?? "";
    const edited = this.#calls().find(({ question }) => question.digest === digest)?.question.again?.edited;
    return { ...NEW, reason, ...(edited && { editing: true, text: edited }) };
  }

  #decideAll(agree: boolean): void {
    const { decide } = this.props.connection;
    const isBeingDrawn = this.#el.current?.querySelector("[aria-busy=true]");
    if (agree && isBeingDrawn) return; // what is not drawn yet was not read
    for (const call of this.#calls()) {
      const draft = this.#draft(call);
      decide(agree ? agreement(call, draft) : refusal(call, draft.reason));
    }
  }

  #draft({ question }: Waiting): Draft {
    return this.state.drafts[question.digest] ?? this.#begun(question.digest);
  }

  render(): JSX.Element {
    const shown = this.props.connection.shown();
    const calls = this.#calls();
    const settled = this.#settled(shown);
    this.#hadFocus = this.#el.current?.contains(document.activeElement) ?? false;
    const isThere = calls.length > 0 || settled.some(({ elsewhere }) => elsewhere);
    return (
      <div>
        <p class="nb-unseen" role="status">
          {calls.length > 0
            ? `nbtool asks about ${counted(calls.length, "call")}: ${namesOf(calls)}.`
            : settled.map(({ line }) => line).join(" ")}
        </p>
        {isThere && (
          <fieldset
            ref={this.#el}
            class="nb-card"
            aria-label="Approval"
            tabIndex={-1}
            data-lm-suppress-shortcuts="true"
            onKeyDown={keep}
            onKeyUp={keep}
            onKeyPress={keep}
          >
            {this.#head(calls, shown)}
            {settled.map(({ digest, line }) => (
              <p key={digest} class="nb-settled nb-quiet">
                {line}
              </p>
            ))}
            {calls.map((call) => (
              <Item
                key={call.question.digest}
                call={call}
                draft={this.#draft(call)}
                shown={shown}
                armed={this.state.armed === keyOf(calls)}
                change={(change) => this.#change(call.question.digest, change)}
                decide={this.props.connection.decide}
                look={this.props.connection.look}
              />
            ))}
          </fieldset>
        )}
      </div>
    );
  }

  #head(calls: Waiting[], shown: Shown): JSX.Element {
    const waits = calls.filter(({ question }) => !isShut(question.digest, shown));
    return (
      <div class="nb-card-head">
        <p class="nb-asks">
          {calls.length ? "nbtool asks" : "nbtool asked"}
          {calls.length > 1 && <span> · {counted(calls.length, "call")}</span>}
        </p>
        {waits.length > 1 && this.#all(waits)}
      </div>
    );
  }

  /** The buttons for all at once, or why there are none. */
  #all(calls: Waiting[]): JSX.Element {
    const alone = calls.find(({ question }) => question.sensitive);
    if (alone)
      return (
        <span class="nb-quiet">
          One by one: <code>{oneLine(alone.question.tool, 60)}</code> is decided by itself.
        </span>
      );
    const drafts = calls.map((call) => this.#draft(call));
    const unseen = calls.filter((call, at) => !drafts[at]?.seen || !isReadable(call, drafts[at])).length;
    const isBroken = drafts.some(({ problems }) => Object.keys(problems).length);
    const disabled = this.state.armed !== this.#key || unseen > 0 || isBroken;
    const agree = calls.every(({ question }) => question.gate === "result") ? "Release" : "Approve";
    return (
      <span class="nb-row">
        {unseen > 0 && <span class="nb-quiet">{counted(unseen, "call")} not yet seen in full</span>}
        <button type="button" class="nb-button" disabled={disabled} onClick={() => this.#decideAll(true)}>
          {agree} all {calls.length}
        </button>
        <button type="button" class="nb-button" disabled={disabled} onClick={() => this.#decideAll(false)}>
          Deny all
        </button>
      </span>
    );
  }

  /** What became of the questions that were here; `elsewhere` where nobody decided on this page. */
  #settled({ document, sent }: Shown): { digest: string; line: string; elsewhere: boolean }[] {
    const open = new Set(waitingCalls(document).map(({ question }) => question.digest));
    return Object.entries(this.state.asked)
      .filter(([digest, { round }]) => !open.has(digest) && round >= document.head.round)
      .map(([digest, { id, tool }]) => {
        const line = becameOf(
          digest,
          document.blocks.find((block) => block.id === id),
        );
        return {
          digest,
          line: `${oneLine(tool, 60)}: ${line}`,
          elsewhere: !["sent", "taken"].includes(sent[digest]?.state ?? ""),
        };
      });
  }
}

function becameOf(digest: string, block: Block | undefined): string {
  if (block?.kind !== "call") return "no longer asked.";
  const decided = block.decisions.find((one) => one.digest === digest);
  if (decided?.by === "expired") return "nobody decided in time, so it was refused.";
  return decided ? `${decisionLine(decided)}.` : `${STATES[block.state][1]}; no longer asked.`;
}

function namesOf(calls: Waiting[]): string {
  return calls.map(({ question }) => oneLine(question.tool, 60)).join(", ");
}
