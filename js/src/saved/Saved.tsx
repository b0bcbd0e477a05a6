import { createRef, type JSX } from "preact";
import type { Document } from "../protocol";
import { Turn } from "../views/Turn";
import { Find } from "./Find";
import { LineNote } from "./LineNote";
import type { OfflineConnection } from "./offline";
import { searchableTexts } from "./search";

/** Characters of a turn, folded ones too, from which on it is worth a search: about three screens. */
const MIN_SEARCHABLE_CHARS = 12_000;

/** A saved turn: the final state of the live view, with a search field in the line of its footer. */
export function Saved({ connection }: { connection: OfflineConnection }): JSX.Element {
  const turn = createRef<HTMLDivElement>();
  const { document } = connection.state();
  return (
    <div class="nb-saved">
      <div ref={turn}>
        <Turn connection={connection} below={<LineNote connection={connection} />}>
          {isSearchable(document) && <Find blocks={document.blocks} turn={() => turn.current} />}
        </Turn>
      </div>
    </div>
  );
}

function isSearchable({ blocks }: Document): boolean {
  const lengths = blocks.map((block) => searchableTexts(block).reduce((sum, text) => sum + text.length, 0));
  return lengths.reduce((sum, length) => sum + length, 0) > MIN_SEARCHABLE_CHARS;
}
