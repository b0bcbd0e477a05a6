import type { JSX } from "preact";
import type { Written } from "../notebook/insertCell";
import { Copy } from "./Copy";

const SAID: Record<Written["state"], string> = {
  asked: "The cell is being written…",
  below: "It stands in a new cell below, and has not run: look at it first.",
  here: "Copy it into a cell; nothing has run.",
  refused: "This cannot be done: ",
};

/** A cell that was written: what it says, where it stands, and that it has not run. */
export function WrittenCell({ written, close }: { written: Written; close: () => void }): JSX.Element {
  const { state, text } = written;
  return (
    <div class="nb-written" role="status">
      <div class="nb-row">
        <span>
          {SAID[state]}
          {state === "refused" && text}
        </span>
        <button type="button" class="nb-plain" onClick={close}>
          Close
        </button>
      </div>
      {text && state !== "refused" && (
        <div class="nb-block">
          <Copy text={() => text} />
          <pre class="nb-code">{text}</pre>
        </div>
      )}
    </div>
  );
}
