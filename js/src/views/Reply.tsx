import type { JSX } from "preact";
import type { Connection } from "../kernel/turn";
import type { ProseBlock } from "../protocol";
import { ropeOf } from "../store";
import { LazyView } from "./LazyView";
import { AppendOnlyText } from "./text/AppendOnlyText";
import { TruncationMarks } from "./text/Truncation";

interface ReplyProps {
  block: ProseBlock;
  /** What inserts the code of the reply as cells. */
  connection?: Connection;
}

/** Prose of the model: as Markdown, or unformatted until the second module is loaded. */
export function Reply({ block, connection }: ReplyProps): JSX.Element {
  return (
    <LazyView view="prose" props={{ block, text: ropeOf(block, "text"), connection }}>
      <div class="nb-reply nb-prewrap nb-bidi" aria-busy={block.state === "open"}>
        {block.refusal && <p class="nb-muted">The model refused:</p>}
        <AppendOnlyText text={ropeOf(block, "text")} />
        <TruncationMarks block={block} />
      </div>
    </LazyView>
  );
}
