import type { JSX } from "preact";
import type { ProseBlock } from "../../protocol";
import { omittedMarker } from "../../text/format";

/** The markers of incomplete prose: omitted here, or broken off. */
export function TruncationMarks({ block }: { block: ProseBlock }): JSX.Element | null {
  const marks = [omittedMarker(block.more.text), block.state === "cut" ? "cut off here" : ""].filter(Boolean);
  return marks.length ? (
    <p class="nb-muted nb-truncated">{marks.map((mark) => `[${mark}]`).join(" ")}</p>
  ) : null;
}
