import type { JSX } from "preact";
import { parseObject, plural } from "../../text/format";
import { type PendingCall, safeLine, summarizeArguments } from "./pending";

/** Maximum number of arguments in the sentence; further ones are counted. */
export const MAX_NAMED_ARGUMENTS = 6;

/** What will happen, in one sentence; the model's text is only quoted in it. */
export function CallSummary({
  call,
  edited = null,
}: {
  call: PendingCall;
  /** The arguments that a person entered instead of the model's. */
  edited?: string | null;
}): JSX.Element {
  const { question } = call;
  const tool = <code>{safeLine(question.tool, 80)}</code>;
  if (question.gate === "result")
    return (
      <p class="nb-card-summary">
        The model will read the result of {tool} ({plural(question.shown.length, "character")}
        {question.media && ` and ${plural(question.media.length, "image")}`}).
      </p>
    );
  if (!parseObject(question.shown))
    return (
      <p class="nb-card-summary">
        {tool} asks: {safeLine(question.shown, 300)}
      </p>
    );
  const summaries = summarizeArguments(call, edited);
  const parts = summaries
    .slice(0, MAX_NAMED_ARGUMENTS)
    .map(({ name, value, note }, index) => [
      index ? ", " : " with ",
      <code class="nb-argument-name">{name}</code>,
      " = ",
      <code>{value}</code>,
      note && ` (${note})`,
    ]);
  const omitted = summaries.length - MAX_NAMED_ARGUMENTS;
  return (
    <p class="nb-card-summary">
      {tool} will run{edited !== null && ", as you edited it,"}
      {parts}
      {omitted > 0 && ` and ${plural(omitted, "argument")} more`}
      {summaries.length ? "." : " without arguments."}
    </p>
  );
}
