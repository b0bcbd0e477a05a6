import type { JSX } from "preact";
import type { NoticeBlock } from "../protocol";
import { InlineCode } from "./text/InlineCode";

const LEVEL_LABELS = { info: "", warning: "Warning. ", error: "Error. " };

/** Something the person should know. */
export function Notice({ block }: { block: Pick<NoticeBlock, "text" | "level"> }): JSX.Element {
  return (
    <p class={`nb-notice nb-prewrap nb-${block.level}`}>
      <strong>{LEVEL_LABELS[block.level]}</strong>
      <InlineCode text={block.text} />
    </p>
  );
}
