import type { JSX } from "preact";
import type { ProseBlock } from "../protocol";
import { marker } from "../text/format";

/** The marks of prose that is not all there: left out here, or broken off. */
export function Ending({ block }: { block: ProseBlock }): JSX.Element | null {
  const marks = [marker(block.more.text), block.state === "cut" ? "cut off here" : ""].filter(Boolean);
  return marks.length ? <p class="nb-quiet nb-cut">{marks.map((mark) => `[${mark}]`).join(" ")}</p> : null;
}
