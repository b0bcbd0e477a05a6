/** What a question is about, to be read above its buttons, and the edit of it below them. */
import type { JSX } from "preact";
import { parseObject, plural } from "../../text/format";
import { MAX_UNOPENED_CHARS, type PendingCall } from "../../views/approval/pending";
import { Arguments, MAX_UNOPENED_ARGUMENTS } from "./Arguments";
import { ArgumentsForm } from "./ArgumentsForm";
import { Effect } from "./Diff";
import { contentLength, type Draft, isOneLine } from "./drafts";
import { Result, ResultChanges } from "./Result";

interface BodyProps {
  call: PendingCall;
  draft: Draft;
  readable: boolean;
  change: (change: Partial<Draft>) => void;
}

/** The subject of the question: the text of a result, arguments to read, or a form to fill in. */
export function Body({ call, draft, readable, change }: BodyProps): JSX.Element | null {
  if (call.question.gate === "result") return <Result {...{ call, draft, readable, change }} />;
  const { effect, is_form, shown } = call.question;
  if (draft.isEditing) return is_form ? <ArgumentsForm {...{ call, draft, change }} /> : null;
  const all = <Arguments call={call} text={shown} opened={readable} />;
  if (effect)
    return (
      <>
        <div class="nb-title nb-muted">What will change</div>
        <Effect text={readable ? effect : `${effect.slice(0, MAX_UNOPENED_CHARS)}…`} />
        <FoldedArguments>{all}</FoldedArguments>
      </>
    );
  return Object.keys(parseObject(shown) ?? {}).length && !isOneLine(call) ? all : null;
}

/** What grows while a person edits. It stands below the buttons, so that they stay where they are. */
export function Edit({ call, draft, change }: Omit<BodyProps, "readable">): JSX.Element | null {
  const { gate, is_form, shown } = call.question;
  if (gate === "result") return <ResultChanges before={shown} after={draft.text ?? shown} />;
  return draft.isEditing && !is_form ? <ArgumentsForm {...{ call, draft, change }} /> : null;
}

/** How much is folded. */
export function contentSize(call: PendingCall): string {
  const characters = plural(contentLength(call), "character");
  if (call.question.gate === "result") return characters;
  const count = call.question.lines?.length ?? 0;
  return count > MAX_UNOPENED_ARGUMENTS ? `${plural(count, "argument")}, ${characters}` : characters;
}

function FoldedArguments({ children }: { children: JSX.Element }): JSX.Element {
  return (
    <details class="nb-fold">
      <summary class="nb-muted">Arguments</summary>
      {children}
    </details>
  );
}
