import type { JSX } from "preact";
import type { ArgumentLine } from "../../protocol";
import { escapeInvisible, plural } from "../../text/format";
import type { PendingCall } from "./pending";

/** Maximum number of arguments in the question; further ones are counted. */
export const MAX_NAMED_ARGUMENTS = 6;

interface SummaryProps {
  call: PendingCall;
  /** The arguments that a person entered instead of the model's. */
  edited?: ArgumentLine[] | undefined;
}

/** What is asked, in one line in the kernel's words, with the call as a person would write it. */
export function CallSummary({ call: { question }, edited }: SummaryProps): JSX.Element {
  const { ask = ["", question.tool, ""], lines = [] } = question;
  const [before, call, after] = ask.map(escapeInvisible);
  const at = `${call}(`.indexOf("(");
  const tool = call?.slice(0, at);
  return (
    <>
      <p class="nb-card-summary">
        {before}
        <code>
          <b>{tool}</b>
          {edited ? `(${writtenArguments(edited)})` : call?.slice(at)}
        </code>
        {edited ? ` as you edited it${after}` : after}
      </p>
      <Chips references={(edited ?? lines).filter(({ note }) => note)} />
    </>
  );
}

function writtenArguments(lines: ArgumentLine[]): string {
  const omitted = lines.length - MAX_NAMED_ARGUMENTS;
  const written = lines.slice(0, MAX_NAMED_ARGUMENTS).map(({ name, value }) => `${name}=${value}`);
  return [...written, ...(omitted > 0 ? [`… ${plural(omitted, "argument")} more`] : [])].join(", ");
}

/** What the references among the arguments are: the name, the type and the shape of each, and in a fold all of it. */
function Chips({ references }: { references: ArgumentLine[] }): JSX.Element | null {
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
