import type { JSX } from "preact";
import type { ProseBlock } from "../protocol";
import { growing } from "../store";
import { Grown } from "./AppendOnlyText";
import { Ending } from "./Truncation";

/** What the model thought aloud, folded. */
export function Thinking({ block }: { block: ProseBlock }): JSX.Element {
  return (
    <details class="nb-fold nb-thinking">
      <summary class="nb-quiet">{block.state === "open" ? "Thinking…" : "Thinking"}</summary>
      <div class="nb-inside nb-prewrap">
        <Grown text={growing(block, "text")} />
        <Ending block={block} />
      </div>
    </details>
  );
}
