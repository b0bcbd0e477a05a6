import type { JSX } from "preact";
import type { Head } from "../protocol";
import { counted, ENDS, oneLine, seconds } from "../text";
import { Notice } from "./Notice";

/** How the turn ended, and what it cost. */
export function Footer({ head }: { head: Head }): JSX.Element {
  const { usage } = head;
  const tokens = usage.input_tokens + usage.output_tokens;
  const end = ENDS[head.status] && (head.error || ENDS[head.status]);
  const level = head.status === "error" || head.status === "timeout" ? "error" : "info";
  const facts = [
    oneLine(head.model, 80),
    head.round > 1 && counted(head.round, "round"),
    head.calls > 0 && counted(head.calls, "call"),
    tokens > 0 && counted(tokens, "token"),
    usage.cost !== null && `$${usage.cost.toFixed(4)}`,
    head.seconds !== null && seconds(head.seconds),
  ];
  return (
    <footer>
      {end && <Notice block={{ text: end, level }} />}
      <div class="nb-foot nb-quiet">{facts.filter(Boolean).join(" · ")}</div>
    </footer>
  );
}
