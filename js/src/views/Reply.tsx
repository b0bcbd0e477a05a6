import type { JSX } from "preact";
import { Island } from "../kernel/lazy";
import type { ProseBlock } from "../protocol";
import { growing } from "../store";
import { Grown } from "./AppendOnlyText";
import { Ending } from "./Truncation";

/** Prose of the model: as Markdown, and until the second module is there as it was written. */
export function Reply({ block }: { block: ProseBlock }): JSX.Element {
  return (
    <Island view="prose" props={{ block, text: growing(block, "text") }}>
      <div class="nb-reply nb-prewrap" dir="auto" aria-busy={block.state === "open"}>
        {block.refusal && <p class="nb-quiet">The model refused:</p>}
        <Grown text={growing(block, "text")} />
        <Ending block={block} />
      </div>
    </Island>
  );
}
