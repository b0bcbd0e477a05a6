import type { Connection, Shown } from "../kernel/turn";
import type { Deed, Document } from "../protocol";

/** A turn that no kernel speaks of any more, as the views want it. */
export interface Still extends Connection {
  /** Say what can be done with the turn now: nothing, where no kernel is. */
  offer(acts: readonly Deed[]): void;
}

/** Where the bytes of images and sounds are asked for, and where they stand when they have come. */
interface Bytes {
  look(key: string): void;
  media(): ReadonlyMap<string, BlobPart>;
}

/** Hold a saved turn; what a reader wants to be done with it goes to `act`. */
export function still(document: Document, act: (deed: Deed, version?: number) => void, bytes?: Bytes): Still {
  const listeners = new Set<() => void>();
  let shown: Shown = { document, link: "still", sent: {} };
  return {
    typed: { reasons: new Map(), at: "" },
    shown: () => (bytes ? { ...shown, media: bytes.media() } : shown),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    offer(acts) {
      if ((shown.document.head.acts ?? []).join() === acts.join()) return;
      shown = { ...shown, document: { ...document, head: { ...document.head, acts: [...acts] } } };
      for (const listener of listeners) listener();
    },
    act,
    hello: () => {},
    decide: () => {},
    stop: () => {},
    bind: () => {},
    closeWritten: () => {},
    ...(bytes && { look: bytes.look }),
  };
}
