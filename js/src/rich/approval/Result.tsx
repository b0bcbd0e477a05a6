import { Component, createRef, type JSX } from "preact";
import { counted } from "../../text/format";
import type { Waiting } from "../../views/approval/pending";
import { LONG } from "../../views/approval/pending";
import { Changes } from "./Diff";
import type { Draft } from "./drafts";
import { Marked } from "./hiddenCharacters";
import { redact, type Span, selectedIn } from "./redact";

interface Props {
  call: Waiting;
  draft: Draft;
  readable: boolean;
  change: (change: Partial<Draft>) => void;
}

interface State {
  everywhere: boolean;
  told: string;
}

/** The text of a result: read it, take out what is selected, or write it anew. */
export class Result extends Component<Props, State> {
  override state: State = { everywhere: true, told: "" };
  #pre = createRef<HTMLPreElement>();
  #area = createRef<HTMLTextAreaElement>();

  #selected(text: string): Span | null {
    const { current: area } = this.#area;
    if (area) return { start: area.selectionStart, end: area.selectionEnd };
    return this.#pre.current && selectedIn(this.#pre.current, text, getSelection());
  }

  #redact = (): void => {
    const { call, draft, change } = this.props;
    const text = draft.text ?? call.question.shown;
    const span = this.#selected(text);
    const done = span && redact(text, span, this.state.everywhere);
    if (!done?.count) {
      this.setState({ told: "Select what the model must not read, then press this." });
      return;
    }
    change({ text: done.text });
    this.setState({ told: `Taken out in ${counted(done.count, "place")}.` });
  };

  render(): JSX.Element {
    const { call, draft, readable, change } = this.props;
    const { shown } = call.question;
    const text = draft.text ?? shown;
    return (
      <>
        {draft.editing ? (
          <textarea
            ref={this.#area}
            class="nb-code"
            aria-label="Text for the model"
            rows={Math.min(14, text.split("\n").length + 1)}
            value={text}
            onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          />
        ) : (
          <pre ref={this.#pre} class="nb-code nb-prewrap">
            <Marked text={readable ? text || "(nothing)" : `${text.slice(0, LONG)}…`} />
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
                checked={this.state.everywhere}
                onChange={({ currentTarget }) => this.setState({ everywhere: currentTarget.checked })}
              />{" "}
              wherever it stands
            </label>
            <span class="nb-quiet" role="status">
              {this.state.told}
            </span>
          </div>
        )}
        {draft.text !== null && draft.text !== shown && (
          <section aria-label="Changes" class="nb-diff">
            <div class="nb-title nb-quiet">Changed from what the tool returned</div>
            <Changes before={shown} after={draft.text} />
          </section>
        )}
      </>
    );
  }
}

/** A press on the button must not take away what was selected. */
function keepSelection(event: MouseEvent): void {
  event.preventDefault();
}
