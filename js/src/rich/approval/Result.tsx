import { Component, type ComponentChildren, createRef, type JSX } from "preact";
import { plural } from "../../text/format";
import { type PendingCall, recipientOf, unopenedLimit } from "../../views/approval/pending";
import { TableRows, tableTitle } from "../log/ReferenceCard";
import { Diff } from "./Diff";
import { type Draft, MAX_FIELD_CHARS, tooLongToEdit } from "./drafts";
import { MarkedText } from "./hiddenCharacters";
import { redact, type Span, selectionIn } from "./redact";

interface Props {
  call: PendingCall;
  draft: Draft;
  readable: boolean;
  change: (change: Partial<Draft>) => void;
}

interface State {
  isEverywhere: boolean;
  status: string;
}

/** The text of a result: to read, to redact the selection, or to replace it. */
export class Result extends Component<Props, State> {
  override state: State = { isEverywhere: true, status: "" };
  #pre = createRef<HTMLPreElement>();
  #area = createRef<HTMLTextAreaElement>();

  #selection(text: string): Span | null {
    const { current: area } = this.#area;
    if (area) return { start: area.selectionStart, end: area.selectionEnd };
    return this.#pre.current && selectionIn(this.#pre.current, text, getSelection());
  }

  #redact = (): void => {
    const { call, draft, change } = this.props;
    const text = draft.text ?? call.question.shown;
    const span = this.#selection(text);
    const redacted = span && redact(text, span, this.state.isEverywhere);
    if (!redacted?.count) {
      this.setState({ status: "Select the text to redact first." });
      return;
    }
    change({ text: redacted.text });
    this.setState({ status: `Redacted in ${plural(redacted.count, "place")}.` });
  };

  render(): JSX.Element {
    const { call, draft } = this.props;
    const { shown, table } = call.question;
    const text = draft.text ?? shown;
    return (
      <>
        {table && <div class="nb-title nb-muted">{tableTitle(table)}</div>}
        {table && <TableRows glance={table} label="The result as a table" />}
        <Sent isFold={table !== undefined} recipient={recipientOf(call.question)}>
          {this.#renderText(text)}
        </Sent>
      </>
    );
  }

  /** The text that is sent, or its editor. */
  #renderText(text: string): JSX.Element {
    const { call, draft, readable, change } = this.props;
    const isTooLong = text.length > MAX_FIELD_CHARS;
    return (
      <>
        {draft.isEditing && isTooLong && (
          <p class="nb-muted" role="status">
            {tooLongToEdit(text.length)} Select and redact, or withhold it.
          </p>
        )}
        {draft.isEditing && !isTooLong ? (
          <textarea
            ref={this.#area}
            class="nb-code"
            aria-label={`Text for ${recipientOf(call.question)}`}
            rows={Math.min(14, call.question.shown.split("\n").length + 1)}
            value={text}
            onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          />
        ) : (
          <pre ref={this.#pre} class="nb-code nb-prewrap">
            <MarkedText
              text={readable ? text || "(nothing)" : `${text.slice(0, unopenedLimit(call.question))}…`}
            />
          </pre>
        )}
        {readable && (
          <div class="nb-row nb-redact">
            <button type="button" class="nb-button" onMouseDown={keepSelection} onClick={this.#redact}>
              Redact the selection
            </button>
            <label>
              <input
                type="checkbox"
                checked={this.state.isEverywhere}
                onChange={({ currentTarget }) => this.setState({ isEverywhere: currentTarget.checked })}
              />{" "}
              all occurrences
            </label>
            <span class="nb-muted" role="status">
              {this.state.status}
            </span>
          </div>
        )}
      </>
    );
  }
}

/** The text below a table, open at first: the table is only a view of it. */
function Sent({
  isFold,
  recipient,
  children,
}: {
  isFold: boolean;
  recipient: string;
  children: ComponentChildren;
}): JSX.Element {
  if (!isFold) return <>{children}</>;
  return (
    <details class="nb-fold" open>
      <summary class="nb-muted">What is sent to {recipient}</summary>
      {children}
    </details>
  );
}

/** What a person has changed in a result; nothing where nothing is changed. */
export function ResultChanges({ before, after }: { before: string; after: string }): JSX.Element | null {
  if (before === after) return null;
  return (
    <section aria-label="Changes" class="nb-diff">
      <div class="nb-title nb-muted">Changes to the tool's result</div>
      <Diff before={before} after={after} />
    </section>
  );
}

/** A press on the button must not clear the selection. */
function keepSelection(event: MouseEvent): void {
  event.preventDefault();
}
