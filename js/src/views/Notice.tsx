import type { JSX } from "preact";
import type { NoticeBlock } from "../protocol";
import { LongText } from "./AppendOnlyText";

const LEVEL_LABELS = { info: "", warning: "Warning. ", error: "Error. " };

/** Something the person should know. */
export function Notice({ block }: { block: Pick<NoticeBlock, "text" | "level"> }): JSX.Element {
  return (
    <p class={`nb-notice nb-prewrap nb-${block.level}`}>
      <strong>{LEVEL_LABELS[block.level]}</strong>
      <LongText text={block.text} />
    </p>
  );
}
