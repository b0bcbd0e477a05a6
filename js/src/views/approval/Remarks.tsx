import { Component, type JSX } from "preact";
import type { Asked, Difference } from "../../protocol";
import { unmasked } from "../../text/confusables";
import { visible } from "../../text/format";
import { LongText } from "../AppendOnlyText";

/** Lines of one side of a change that each have a sign; more have one for all of them. */
const MAX_LINES = 100;

/** Why a call is asked about once more; the same words stand in `asking.py`. */
const AGAIN = {
  changed: "Asked again: it has changed since it was shown.",
  unwatched: "Asked again, right before it runs: it may have changed since it was shown.",
  invalid: "Asked again: the arguments that you put in do not fit.",
};

/** What a person should know before all else: why it is asked about again, with what changed, and what cannot be watched. */
export function Remarks({
  question: { again, notes = [] },
  isEditedAgain = false,
}: {
  question: Asked;
  /** Whether a person has put other arguments in place of those that did not fit. */
  isEditedAgain?: boolean;
}): JSX.Element | null {
  if (!again && !notes.length) return null;
  return (
    <div class="nb-remarks" role="note">
      {again && <strong>{AGAIN[again.reason]}</strong>}
      {again?.problem && !isEditedAgain && (
        <p class="nb-problem">
          <Safe text={again.problem} />
        </p>
      )}
      {again?.differences.map((one) => (
        <Changed one={one} />
      ))}
      {notes.map((note) => (
        <p>
          <Safe text={note} />
        </p>
      ))}
    </div>
  );
}

function Changed({ one: { what, before, after } }: { one: Difference }): JSX.Element {
  return (
    <div>
      <p>
        Changed: <Safe text={what} />
      </p>
      {(before || after) && (
        <div class="nb-code nb-changes">
          {linesOf("−", before)}
          {linesOf("+", after)}
        </div>
      )}
    </div>
  );
}

function linesOf(sign: "+" | "−", text: string): JSX.Element[] {
  if (!text) return [];
  const lines = text.split("\n", MAX_LINES + 1);
  return (lines.length > MAX_LINES ? [text] : lines).map((line) => (
    <div class={sign === "+" ? "nb-comes" : "nb-goes"}>
      <span class="nb-change-sign" role="img" aria-label={sign === "+" ? "comes" : "goes"}>
        {sign}
      </span>
      <span class="nb-prewrap">
        <Safe text={line} />
      </span>
    </div>
  ));
}

/** A text of any length in which nothing hides; read once, since a card is drawn often. */
class Safe extends Component<{ text: string }> {
  override shouldComponentUpdate({ text }: { text: string }): boolean {
    return text !== this.props.text;
  }

  render(): JSX.Element {
    return <LongText text={unmasked(visible(this.props.text))} />;
  }
}
