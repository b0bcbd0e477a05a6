import type { JSX } from "preact";
import { type Connection, isLive } from "../kernel/turn";
import type { Document, Head } from "../protocol";
import {
  END_REASON_LABELS,
  formatCost,
  formatSeconds,
  plural,
  singleLine,
  TURN_STATUS_LABELS,
} from "../text/format";
import { InlineCode } from "./InlineCode";
import { LazyView } from "./LazyView";
import { Notice } from "./Notice";

interface FooterProps {
  document: Document;
  runAction: Connection["runAction"];
}

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
  return (
    <footer>
      {end && <Notice block={{ text: end, level }} />}
      {head.cut && (
        <p class="nb-muted nb-small">
          <InlineCode text={omissionNotice(head)} />
        </p>
      )}
      <div class="nb-footer nb-muted">
        <span title={details(head)}>{facts(head)}</span>
        <LazyView view="actions" props={{ document, runAction }} />
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

/** The model, why there is no answer, and what the turn cost. */
function facts(head: Head): string {
  const { usage } = head;
  const tokens = usage.input_tokens + usage.output_tokens;
  return join([
    singleLine(head.model, 80),
    END_REASON_LABELS.get(head.end_reason ?? ""),
    head.replayed && `replayed from ${singleLine(head.replayed, 40)}`,
    tokens > 0 && plural(tokens, "token"),
    formatCost(usage),
    head.seconds !== null && formatSeconds(head.seconds),
  ]);
}

/** What few people ask for: it is in the tooltip. */
function details({ round, calls, why }: Head): string {
  return join([plural(round, "round"), plural(calls, "call"), why && `model from ${singleLine(why, 80)}`]);
}

function join(parts: readonly unknown[]): string {
  return parts.filter(Boolean).join(" · ");
}
