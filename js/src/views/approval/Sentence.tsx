import type { JSX } from "preact";
import { parseObject, plural } from "../../text/format";
import { type ArgumentSummary, type PendingCall, recipientOf, safeLine, summarizeArguments } from "./pending";

/** Maximum number of arguments in the question; further ones are counted. */
export const MAX_NAMED_ARGUMENTS = 6;

/** Characters of the arguments of a call whose result is asked about. */
const MAX_CALL_CHARS = 80;

/** What is asked, in one line, with the call as a person would write it; the model's text is only quoted in it. */
export function CallSummary({
  call,
  edited,
}: {
  call: PendingCall;
  /** The arguments that a person entered instead of the model's. */
  edited?: ArgumentSummary[] | undefined;
}): JSX.Element {
  const { question } = call;
  const tool = safeLine(question.tool, 80);
  if (question.sign_in !== undefined)
    return (
      <p class="nb-card-summary">
        <code>{tool}</code> you to sign in. Open its page?
      </p>
    );
  if (question.is_form)
    return (
      <p class="nb-card-summary">
        <code>{tool}</code> for input. Send what is filled in?
      </p>
    );
  if (question.gate === "result")
    return (
      <p class="nb-card-summary">
        Send the result of{" "}
        <code>
          <b>{tool}</b>({callArguments(call)})
        </code>{" "}
        to {recipientOf(question)} ({plural(question.shown.length, "character")}
        {question.media && ` and ${plural(question.media.length, "image")}`})?
      </p>
    );
  if (!parseObject(question.shown))
    return (
      <p class="nb-card-summary">
        <code>{tool}</code> asks: {safeLine(question.shown, 300)}
      </p>
    );
  const summaries = edited ?? summarizeArguments(call);
  const omitted = summaries.length - MAX_NAMED_ARGUMENTS;
  const written = summaries.slice(0, MAX_NAMED_ARGUMENTS).map(({ name, value }) => `${name}=${value}`);
  return (
    <>
      <p class="nb-card-summary">
        Run{" "}
        <code>
          <b>{tool}</b>({written.join(", ")}
          {omitted > 0 && `, … ${plural(omitted, "argument")} more`})
        </code>
        {edited && " as you edited it"}?
      </p>
      <Chips references={summaries.filter(({ note }) => note)} />
    </>
  );
}

/** The arguments of a call that has run, as the log writes them. */
function callArguments({ arguments: text, line = text }: PendingCall): string {
  return safeLine(line, MAX_CALL_CHARS);
}

/** What the references among the arguments are: the name, the type and the shape of each, and in a fold all of it. */
function Chips({ references }: { references: ArgumentSummary[] }): JSX.Element | null {
  if (!references.length) return null;
  return (
    <div class="nb-row nb-chips">
      {references.map(({ value, note, details }) =>
        details ? (
          <details class="nb-chip">
            <summary>
              <code>{value}</code> {note}
            </summary>
            {details}
          </details>
        ) : (
          <span class="nb-chip">
            <code>{value}</code> {note}
          </span>
        ),
      )}
    </div>
  );
}
