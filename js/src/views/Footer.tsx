import type { JSX } from "preact";
import { type Connection, isLive } from "../kernel/turn";
import type { Document, Head } from "../protocol";
import { singleLine, TURN_STATUS_LABELS } from "../text/format";
import { LazyView } from "./LazyView";
import { Notice } from "./Notice";
import { InlineCode } from "./text/InlineCode";

interface FooterProps {
  document: Document;
  runAction: Connection["runAction"];
}

/** A chat name that needs no quoting in a cell; as in nbtool/blocks/protocol_schema.py. */
const TURN_ID = /^[A-Za-z0-9_-]{0,64}$/;
const CHAT_NAME = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** Which model, how the turn ended, and, from the second module, what it cost and what can be done with it. */
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
        <LazyView view="actions" props={{ document, runAction }}>
          {singleLine(head.model, 80)}
        </LazyView>
      </div>
    </footer>
  );
}

/** How to read omitted text; the same line as `rest_line` of nbtool/blocks/render/omission.py. */
export function omissionNotice({ turn_id, chat = "main" }: Head): string {
  const chatOption = chat !== "main" && CHAT_NAME.test(chat) ? ` -c ${chat}` : "";
  const turn = turn_id && TURN_ID.test(turn_id) ? ` ${turn_id.slice(0, 13)}` : "";
  return `Not all of this turn is shown here: \`%chat${chatOption} show${turn} --whole\` prints all of it.`;
}
