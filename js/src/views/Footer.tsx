import type { JSX } from "preact";
import { isLive } from "../kernel/turn";
import type { Deed, Document, Head } from "../protocol";
import { counted, END_REASONS, ENDS, oneLine, seconds } from "../text/format";
import { Copy } from "./Copy";
import { Notice } from "./Notice";

interface FooterProps {
  document: Document;
  act: (deed: Deed, version?: number) => void;
}

const LABELS: Record<Exclude<Deed, "version">, string> = {
  rerun: "Rerun",
  edit: "Edit prompt",
  code: "To code",
  explore: "Explore",
};

/** What can stand in a cell as it is; as in nbtool/blocks/protocol_schema.py. */
const ID = /^[A-Za-z0-9_-]{0,64}$/;
const CHAT = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** Which model, how the turn ended, what it cost, and what can be done with it. */
export function Footer({ document, act }: FooterProps): JSX.Element {
  const { head, blocks } = document;
  const isAsked = head.status === "parked" && blocks.some((block) => block.kind === "call" && block.question);
  const end = ENDS[head.status] && (head.error || (!isAsked && ENDS[head.status])); // a card says what it waits for
  const level = head.status === "error" || head.status === "timeout" ? "error" : "info";
  const reply = blocks.findLast((block) => block.kind === "text");
  return (
    <footer>
      {end && <Notice block={{ text: end, level }} />}
      {head.cut && <p class="nb-quiet nb-small">{restLine(head)}</p>}
      <div class="nb-foot nb-quiet">
        <span>{facts(head)}</span>
        <span class="nb-acts">
          <Versions head={head} act={act} />
          {!isLive(document) && reply?.kind === "text" && <Copy text={() => reply.text} label="Copy reply" />}
          {offered(document).map((deed) => (
            <button key={deed} type="button" class="nb-plain" onClick={() => act(deed)}>
              {LABELS[deed]}
            </button>
          ))}
        </span>
      </div>
    </footer>
  );
}

/** How to read what is left out; says what `rest_line` of nbtool/blocks/omission.py says. */
export function restLine({ turn_id, chat = "main" }: Head): string {
  const named = chat !== "main" && CHAT.test(chat) ? ` -c ${chat}` : "";
  const turn = turn_id && ID.test(turn_id) ? ` ${turn_id}` : "";
  return `Not all of this turn is shown here: \`%chat${named} show${turn} --whole\` prints all of it.`;
}

/** What can be done with the turn as it stands: no code can be made of one that has called nothing. */
function offered({ head, blocks }: Document): (keyof typeof LABELS)[] {
  const hasCalls = blocks.some(({ kind }) => kind === "call");
  const deeds = Object.keys(LABELS) as (keyof typeof LABELS)[];
  return deeds.filter((deed) => head.acts?.includes(deed) && (deed !== "code" || hasCalls));
}

function facts(head: Head): string {
  const { usage } = head;
  const tokens = usage.input_tokens + usage.output_tokens;
  return [
    oneLine(head.model, 80) + (head.why ? ` (${oneLine(head.why, 80)})` : ""),
    END_REASONS.get(head.end_reason ?? ""),
    head.replayed && `replayed from ${oneLine(head.replayed, 40)}`,
    head.round > 1 && counted(head.round, "round"),
    head.calls > 0 && counted(head.calls, "call"),
    tokens > 0 && counted(tokens, "token"),
    usage.cost !== null && `$${usage.cost.toFixed(4)}`,
    head.seconds !== null && seconds(head.seconds),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Which of how many versions of its place this turn is, and the way to the others. */
function Versions({
  head: { version = 1, versions = 1, acts },
  act,
}: {
  head: Head;
  act: FooterProps["act"];
}): JSX.Element | null {
  if (versions < 2) return null;
  const to = (sign: string, name: string, other: number): JSX.Element | false =>
    acts?.includes("version") === true && (
      <button
        type="button"
        class="nb-plain"
        aria-label={name}
        disabled={other < 1 || other > versions}
        onClick={() => act("version", other)}
      >
        {sign}
      </button>
    );
  return (
    <span class="nb-versions">
      {to("‹", "The version before", version - 1)}
      <span role="img" aria-label={`Version ${version} of ${versions}`}>
        {version}/{versions}
      </span>
      {to("›", "The next version", version + 1)}
    </span>
  );
}
