import { Component, createRef, type JSX } from "preact";
import type { Shown } from "../../kernel/turn";
import type { Decision } from "../../protocol";
import { counted, oneLine, readObject } from "../../text/format";
import { WORDS } from "../../views/Approval";
import { isShut, LONG, saidArguments, standing, type Waiting } from "../../views/approval/pending";
import { Remarks } from "../../views/approval/Remarks";
import { NAMED, Sentence } from "../../views/approval/Sentence";
import { Pictures } from "../../views/MediaList";
import { Arguments, FIRST } from "./Arguments";
import { Fields } from "./ArgumentsForm";
import { Effect } from "./Diff";
import { agreement, type Draft, isEdited, isReadable, lengthOf, refusal } from "./drafts";
import { Result } from "./Result";

interface Props {
  call: Waiting;
  draft: Draft;
  shown: Shown;
  armed: boolean;
  change: (change: Partial<Draft>) => void;
  decide: (decision: Decision) => void;
  look: ((key: string) => void) | undefined;
}

/** One question: what will happen, all that it stands for, and what can be said to it. */
export class Item extends Component<Props> {
  #el = createRef<HTMLFieldSetElement>();
  #end = createRef<HTMLDivElement>();
  #looking: IntersectionObserver | null = null;

  override componentDidMount(): void {
    if (!this.#end.current) return;
    this.#looking = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) this.props.change({ seen: true });
    });
    this.#looking.observe(this.#end.current);
  }

  override componentWillUnmount(): void {
    this.#looking?.disconnect();
  }

  #agree = (): void => {
    const { call, draft, decide } = this.props;
    const isBeingDrawn = this.#el.current?.querySelector("[aria-busy=true]");
    if (!this.#isOpen() || isBeingDrawn) return; // what is not drawn yet was not read
    this.#el.current?.focus({ preventScroll: true });
    this.props.change({ sent: draft.text });
    decide(agreement(call, draft));
  };

  #refuse = (): void => {
    const { call, draft, armed, shown, decide } = this.props;
    if (!armed || isShut(call.question.digest, shown)) return;
    this.#el.current?.focus({ preventScroll: true });
    decide(refusal(call, draft.reason));
  };

  /** Whether it can be agreed to as it stands. */
  #isOpen(): boolean {
    const { call, draft, armed, shown } = this.props;
    const isWhole = !Object.keys(draft.problems).length;
    return armed && isWhole && isReadable(call, draft) && !isShut(call.question.digest, shown);
  }

  #key = (event: KeyboardEvent): void => {
    const { key, target, ctrlKey, metaKey, repeat } = event;
    if (key === "Escape") this.#el.current?.focus({ preventScroll: true });
    if (key !== "Enter") return;
    if (repeat) event.preventDefault();
    else if (ctrlKey || metaKey || target === this.#el.current) {
      event.preventDefault();
      this.#agree();
    }
  };

  #open = (): void => {
    this.#el.current?.focus({ preventScroll: true });
    this.props.change({ opened: true });
  };

  #edit = (): void => {
    const { editing, text } = this.props.draft;
    this.props.change(
      editing || text !== null ? { editing: false, text: null, problems: {} } : { editing: true },
    );
  };

  render(): JSX.Element {
    const { call, draft, shown, change, look } = this.props;
    const { digest, gate, tool, description, media, notice } = call.question;
    const readable = isReadable(call, draft);
    return (
      <fieldset
        ref={this.#el}
        class="nb-item"
        tabIndex={-1}
        aria-label={`${gate === "run" ? "Run" : "Result of"} ${oneLine(tool, 80)}`}
        onKeyDown={this.#key}
      >
        <Remarks question={call.question} isEditedAgain={isEditedAgain(call, draft)} />
        {notice && (
          <section aria-label="Read this first">
            <Effect text={readable ? notice : `${notice.slice(0, LONG)}…`} />
          </section>
        )}
        <Sentence call={call} edited={isEdited(call, draft) ? draft.text : null} />
        {description && <p class="nb-quiet nb-description">{oneLine(description, 300)}</p>}
        <Body {...{ call, draft, readable, change }} />
        {media && <Pictures media={media} bytes={shown.media} look={look} />}
        {media && isEdited(call, draft) && (
          <p class="nb-quiet">
            As edited, the text alone goes to the model: {counted(media.length, "image")} will not.
          </p>
        )}
        <div ref={this.#end} />
        {!readable && (
          <button type="button" class="nb-plain" onClick={this.#open}>
            Show all {extentOf(call)}
          </button>
        )}
        {this.#buttons(readable)}
        <p class="nb-quiet nb-said" role="status">
          {(!isPutRight(digest, shown, draft) && standing(digest, shown)) || hint(draft, readable)}
        </p>
      </fieldset>
    );
  }

  #buttons(readable: boolean): JSX.Element {
    const { call, draft, shown, armed, change } = this.props;
    const { gate, can_remember, digest } = call.question;
    const words = WORDS[gate];
    const edited = isEdited(call, draft);
    return (
      <div class="nb-row">
        <button type="button" class="nb-button nb-yes" disabled={!this.#isOpen()} onClick={this.#agree}>
          {words.yes}
          {edited && " as edited"}
        </button>
        <button
          type="button"
          class="nb-button"
          disabled={!armed || isShut(digest, shown)}
          onClick={this.#refuse}
        >
          {words.no}
        </button>
        {(gate === "result" || readObject(call.question.shown)) && (
          <button type="button" class="nb-plain" disabled={!readable} onClick={this.#edit}>
            {draft.editing || draft.text !== null ? "Undo the edit" : "Edit"}
          </button>
        )}
        <input
          class="nb-reason"
          data-digest={digest}
          maxLength={4000}
          placeholder={words.reason}
          aria-label={words.reason}
          value={draft.reason}
          onInput={({ currentTarget }) => change({ reason: currentTarget.value })}
        />
        {gate === "run" && can_remember && !edited && (
          <select
            aria-label="Ask again"
            value={draft.remember}
            onChange={({ currentTarget }) => change({ remember: currentTarget.value as Draft["remember"] })}
          >
            <option value="">Ask every time</option>
            {call.question.can_remember_call !== false && (
              <option value="call">Remember for this call</option>
            )}
            <option value="tool">Remember for this tool</option>
          </select>
        )}
      </div>
    );
  }
}

/** Whether other arguments stand there than those that did not fit, so that what was wrong with these is over. */
function isEditedAgain({ question: { again } }: Waiting, { text }: Draft): boolean {
  return again?.reason === "invalid" && text !== again.edited;
}

/** Whether a decision was refused, and a person has edited since. */
function isPutRight(digest: string, { sent }: Shown, draft: Draft): boolean {
  return sent[digest]?.state === "refused" && draft.sent !== undefined && draft.sent !== draft.text;
}

interface BodyProps {
  call: Waiting;
  draft: Draft;
  readable: boolean;
  change: (change: Partial<Draft>) => void;
}

/** What is asked about: the text of a result, arguments to read, or their editor. */
function Body({ call, draft, readable, change }: BodyProps): JSX.Element | null {
  if (call.question.gate === "result") return <Result {...{ call, draft, readable, change }} />;
  if (draft.editing) return <Fields {...{ call, draft, change }} />;
  const { effect, shown } = call.question;
  const all = <Arguments call={call} text={shown} opened={readable} />;
  if (effect)
    return (
      <>
        <div class="nb-title nb-quiet">What will change</div>
        <Effect text={readable ? effect : `${effect.slice(0, LONG)}…`} />
        <Folded>{all}</Folded>
      </>
    );
  const said = saidArguments(call);
  if (!readObject(shown) || !said.length) return null;
  return said.length <= NAMED && said.every(({ whole, what }) => whole && !what) ? (
    <Folded>{all}</Folded>
  ) : (
    all
  );
}

/** How much there is to open. */
function extentOf(call: Waiting): string {
  const characters = counted(lengthOf(call), "character");
  if (call.question.gate === "result") return characters;
  const many = saidArguments(call).length;
  return many > FIRST ? `${counted(many, "argument")}, ${characters}` : characters;
}

function Folded({ children }: { children: JSX.Element }): JSX.Element {
  return (
    <details class="nb-fold">
      <summary class="nb-quiet">The arguments in full</summary>
      {children}
    </details>
  );
}

function hint({ problems }: Draft, readable: boolean): string {
  if (Object.keys(problems).length) return "Put right what is marked, then approve.";
  return readable ? "" : "Open all of it before you approve.";
}
