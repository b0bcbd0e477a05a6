import { createRef, type JSX } from "preact";
import type { Document } from "../protocol";
import { Turn } from "../views/Turn";
import { Find } from "./Find";
import type { Still } from "./offline";
import { textsOf } from "./search";

/** Characters of a turn, folded ones too, from which on it is worth a search. */
const LONG = 3_000;

/** A saved turn: what the live view showed in the end, and a way to find what it says. */
export function Saved({ connection }: { connection: Still }): JSX.Element {
  const turn = createRef<HTMLDivElement>();
  const { document } = connection.shown();
  return (
    <div class="nb-saved">
      {isWorthSearching(document) && <Find blocks={document.blocks} turn={() => turn.current} />}
      <div ref={turn}>
        <Turn connection={connection} />
      </div>
    </div>
  );
}

function isWorthSearching({ blocks }: Document): boolean {
  const lengths = blocks.map((block) => textsOf(block).reduce((sum, text) => sum + text.length, 0));
  return lengths.reduce((sum, length) => sum + length, 0) > LONG;
}
