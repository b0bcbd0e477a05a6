import type { JSX } from "preact";
import type { LazyViews } from "../views/LazyView";
import { InlineCode } from "../views/text/InlineCode";

/** A chat name that needs no quoting in a cell; as in nbtool/blocks/protocol_schema.py. */
const TURN_ID = /^(?:[A-Za-z0-9_][A-Za-z0-9_-]{0,63})?$/;
const CHAT_NAME = /^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$/;

/** How to read omitted text; the same line as `rest_line` of nbtool/blocks/render/omission.py. */
export function Omission({ head: { turn_id, chat = "main" } }: LazyViews["omission"]): JSX.Element {
  const chatOption = chat !== "main" && CHAT_NAME.test(chat) ? ` -c ${chat}` : "";
  const turn = turn_id && TURN_ID.test(turn_id) ? ` ${turn_id.slice(0, 13)}` : "";
  const line = `Not all of this turn is shown here: \`%chat${chatOption} show${turn} --whole\` prints all of it.`;
  return (
    <p class="nb-muted nb-small">
      <InlineCode text={line} />
    </p>
  );
}
