/** The footer of a turn: its model, how it ended, and what was omitted. */
import type { ComponentChildren, JSX } from "preact";
import { type Connection, isLive } from "../kernel/turn";
import type { Document } from "../protocol";
import { MAX_FACTS, singleLine } from "../text/format";
import { isAside } from "./Blocks";
import { LazyView } from "./LazyView";
import { Notice } from "./Notice";
import { InlineCode } from "./text/InlineCode";

interface FooterProps {
  document: Document;
  connection: Pick<Connection, "runAction" | "resend">;
  /** What stands first in the line. */
  children?: ComponentChildren;
  /** What stands last in it. */
  end?: ComponentChildren;
}

/** Which model, how the turn ended, and, from the second module, what it cost and what can be done with it. */
export function Footer({
  document,
  connection: { runAction, resend },
  children,
  end: last,
}: FooterProps): JSX.Element {
  const { head, blocks } = document;
  const hasQuestion =
    head.status === "parked" && blocks.some((block) => block.kind === "call" && block.question);
  const end =
    !isLive(document) && head.end && (head.error || !hasQuestion) && singleLine(head.end, MAX_FACTS); // the card shows what the turn waits for
  const level = head.status === "error" || head.status === "timeout" ? "error" : "info";
  return (
    <footer>
      {end && <Notice block={{ text: end, level }} />}
      {head.cut && <LazyView view="omission" props={{ head }} />}
      <div class="nb-footer nb-muted">
        {children}
        <LazyView view="actions" props={{ document, runAction, resend }}>
          {singleLine(head.model, 80)}
        </LazyView>
        {last}
      </div>
      {blocks.filter(isAside).map((block) => (
        <p key={block.id} class="nb-aside nb-muted">
          <InlineCode text={block.text} />
        </p>
      ))}
    </footer>
  );
}
