import type { JSX } from "preact";
import { isLive } from "../kernel/turn";
import type { Document, Head, PageAction } from "../protocol";
import {
  END_REASON_LABELS,
  formatCost,
  formatSeconds,
  plural,
  singleLine,
  TURN_STATUS_LABELS,
} from "../text/format";
import { Copy } from "./Copy";
import { InlineCode } from "./InlineCode";
import { Notice } from "./Notice";

interface FooterProps {
  document: Document;
  runAction: (action: PageAction, version?: number) => void;
}

const ACTION_LABELS: Record<Exclude<PageAction, "version" | "bind">, string> = {
  rerun: "Rerun",
  edit: "Edit prompt",
  code: "To code",
  explore: "Explore",
};

/** A chat name that needs no quoting in a cell; as in nbtool/blocks/protocol_schema.py. */
const TURN_ID = /^[A-Za-z0-9_-]{0,64}$/;
const CHAT_NAME = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** Which model, how the turn ended, what it cost, and what can be done with it. */
export function Footer({ document, runAction }: FooterProps): JSX.Element {
  const { head, blocks } = document;
  const hasQuestion =
    head.status === "parked" && blocks.some((block) => block.kind === "call" && block.question);
  const end =
    !isLive(document) &&
    TURN_STATUS_LABELS[head.status] &&
    (head.error || (!hasQuestion && TURN_STATUS_LABELS[head.status])); // the card shows what the turn waits for
  const level = head.status === "error" || head.status === "timeout" ? "error" : "info";
  const reply = blocks.findLast((block) => block.kind === "text");
  return (
    <footer>
      {end && <Notice block={{ text: end, level }} />}
      {head.cut && (
        <p class="nb-muted nb-small">
          <InlineCode text={omissionNotice(head)} />
        </p>
      )}
      <div class="nb-footer nb-muted">
        <span>{facts(head)}</span>
        <span class="nb-actions">
          <Versions head={head} runAction={runAction} />
          {!isLive(document) && reply?.kind === "text" && <Copy text={() => reply.text} label="Copy reply" />}
          {offeredActions(document).map((action) => (
            <button key={action} type="button" class="nb-text-button" onClick={() => runAction(action)}>
              {ACTION_LABELS[action]}
            </button>
          ))}
        </span>
      </div>
    </footer>
  );
}

/** How to read omitted text; the same line as `rest_line` of nbtool/blocks/render/omission.py. */
export function omissionNotice({ turn_id, chat = "main" }: Head): string {
  const chatOption = chat !== "main" && CHAT_NAME.test(chat) ? ` -c ${chat}` : "";
  const turn = turn_id && TURN_ID.test(turn_id) ? ` ${turn_id}` : "";
  return `Not all of this turn is shown here: \`%chat${chatOption} show${turn} --whole\` prints all of it.`;
}

/** The possible actions on the turn: one without calls has no code. */
function offeredActions({ head, blocks }: Document): (keyof typeof ACTION_LABELS)[] {
  const hasCalls = blocks.some(({ kind }) => kind === "call");
  const actions = Object.keys(ACTION_LABELS) as (keyof typeof ACTION_LABELS)[];
  return actions.filter((action) => head.acts?.includes(action) && (action !== "code" || hasCalls));
}

function facts(head: Head): string {
  const { usage } = head;
  const tokens = usage.input_tokens + usage.output_tokens;
  return [
    singleLine(head.model, 80) + (head.why ? ` (${singleLine(head.why, 80)})` : ""),
    END_REASON_LABELS.get(head.end_reason ?? ""),
    head.replayed && `replayed from ${singleLine(head.replayed, 40)}`,
    head.round > 1 && plural(head.round, "round"),
    head.calls > 0 && plural(head.calls, "call"),
    tokens > 0 && plural(tokens, "token"),
    formatCost(usage),
    head.seconds !== null && formatSeconds(head.seconds),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Which of how many versions of its place this turn is, and the way to the others. */
function Versions({
  head: { version = 1, versions = 1, acts },
  runAction,
}: {
  head: Head;
  runAction: FooterProps["runAction"];
}): JSX.Element | null {
  if (versions < 2) return null;
  const button = (sign: string, name: string, other: number): JSX.Element | false =>
    acts?.includes("version") === true && (
      <button
        type="button"
        class="nb-text-button"
        aria-label={name}
        disabled={other < 1 || other > versions}
        onClick={() => runAction("version", other)}
      >
        {sign}
      </button>
    );
  return (
    <span class="nb-versions">
      {button("‹", "Previous version", version - 1)}
      <span role="img" aria-label={`Version ${version} of ${versions}`}>
        {version}/{versions}
      </span>
      {button("›", "Next version", version + 1)}
    </span>
  );
}
