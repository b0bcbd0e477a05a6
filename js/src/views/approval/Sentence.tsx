import type { JSX } from "preact";
import { counted, readObject } from "../../text/format";
import { askedLine, saidArguments, type Waiting } from "./pending";

/** Arguments that the sentence tells; of more, it tells how many there are. */
export const NAMED = 6;

/** What will happen, in one sentence; what a model wrote stands in it as a quoted word and nothing else. */
export function Sentence({
  call,
  edited = null,
}: {
  call: Waiting;
  /** The arguments that a person puts in place of those asked about. */
  edited?: string | null;
}): JSX.Element {
  const { question } = call;
  const tool = <code>{askedLine(question.tool, 80)}</code>;
  if (question.gate === "result")
    return (
      <p class="nb-ask">
        The model will read the result of {tool} ({counted(question.shown.length, "character")}
        {question.media && ` and ${counted(question.media.length, "image")}`}).
      </p>
    );
  if (!readObject(question.shown))
    return (
      <p class="nb-ask">
        {tool} asks: {askedLine(question.shown, 300)}
      </p>
    );
  const said = saidArguments(call, edited);
  const parts = said
    .slice(0, NAMED)
    .map(({ name, value, what }, at) => [
      at ? ", " : " with ",
      <code class="nb-said-name">{name}</code>,
      " = ",
      <code>{value}</code>,
      what && ` (${what})`,
    ]);
  const more = said.length - NAMED;
  return (
    <p class="nb-ask">
      {tool} will run{edited !== null && ", as you edited it,"}
      {parts}
      {more > 0 && ` and ${counted(more, "argument")} more`}
      {said.length ? "." : " without arguments."}
    </p>
  );
}
