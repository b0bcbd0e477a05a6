import { Component, type JSX } from "preact";
import type { DifferenceData, QuestionData } from "../../protocol";
import { escapeConfusables } from "../../text/confusables";
import { escapeInvisible } from "../../text/format";
import { LongText } from "../text/AppendOnlyText";

/** Lines of one side of a change that each have a sign; more have one for all of them. */
const MAX_LINES = 100;

/** What is shown first: why approval is requested again, what changed, and what cannot be watched for changes. */
export function Remarks({
  question: { again, notes = [] },
  isEditedAgain = false,
}: {
  question: QuestionData;
  /** Whether a person has replaced the arguments that did not fit. */
  isEditedAgain?: boolean;
}): JSX.Element | null {
  if (!again && !notes.length) return null;
  return (
    <div class="nb-remarks" role="note">
      {again && <strong>{again.title}</strong>}
      {again?.problem && !isEditedAgain && (
        <p class="nb-problem">
          <SafeText text={again.problem} />
        </p>
      )}
      {again?.differences.map((one) => (
        <Difference difference={one} />
      ))}
      {notes.map((note) => (
        <p>
          <SafeText text={note} />
        </p>
      ))}
    </div>
  );
}

function Difference({ difference: { what, before, after } }: { difference: DifferenceData }): JSX.Element {
  return (
    <div>
      <p>
        Changed: <SafeText text={what} />
      </p>
      {(before || after) && (
        <div class="nb-code nb-changes">
          {diffLines("−", before)}
          {diffLines("+", after)}
        </div>
      )}
    </div>
  );
}

function diffLines(sign: "+" | "−", text: string): JSX.Element[] {
  if (!text) return [];
  const lines = text.split("\n", MAX_LINES + 1);
  return (lines.length > MAX_LINES ? [text] : lines).map((line) => (
    <div class={sign === "+" ? "nb-added" : "nb-removed"}>
      <span class="nb-change-sign" role="img" aria-label={sign === "+" ? "added" : "removed"}>
        {sign}
      </span>
      <span class="nb-prewrap">
        <SafeText text={line} />
      </span>
    </div>
  ));
}

/** A text of any length with hidden characters shown; parsed once, because a card is rendered often. */
class SafeText extends Component<{ text: string }> {
  override shouldComponentUpdate({ text }: { text: string }): boolean {
    return text !== this.props.text;
  }

  render(): JSX.Element {
    return <LongText text={escapeConfusables(escapeInvisible(this.props.text))} />;
  }
}
