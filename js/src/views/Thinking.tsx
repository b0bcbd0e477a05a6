import type { JSX } from "preact";
import type { ProseBlock } from "../protocol";
import { ropeOf } from "../store";
import { AppendOnlyText } from "./AppendOnlyText";
import { TruncationMarks } from "./Truncation";

/** What the model thought aloud, folded. */
export function Thinking({ block }: { block: ProseBlock }): JSX.Element {
  return (
    <details class="nb-fold nb-thinking">
      <summary class="nb-muted">{block.state === "open" ? "Thinking…" : "Thinking"}</summary>
      <div class="nb-fold-body nb-prewrap nb-bidi">
        <AppendOnlyText text={ropeOf(block, "text")} />
        <TruncationMarks block={block} />
      </div>
    </details>
  );
}
