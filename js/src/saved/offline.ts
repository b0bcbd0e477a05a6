import type { Connection, TurnState } from "../kernel/turn";
import type { Document, PageAction } from "../protocol";

/** The connection of a turn without a kernel, in the form that the views need. */
export interface OfflineConnection extends Connection {
  /** Say what can be done with the turn now: nothing, where no kernel is. */
  setActions(actions: readonly PageAction[]): void;
}

/** The source of the bytes of images and sounds, and those that are loaded. */
interface MediaLoader {
  request(key: string): void;
  loaded(): ReadonlyMap<string, BlobPart>;
}

/** Create the connection of a saved turn; its actions are passed to `act`. */
export function offlineConnection(
  document: Document,
  runAction: Connection["runAction"],
  bytes?: MediaLoader,
): OfflineConnection {
  const listeners = new Set<() => void>();
  let state: TurnState = { document, link: "offline", requests: {} };
  return {
    drafts: { reasons: new Map(), focusedDigest: "" },
    state: () => (bytes ? { ...state, media: bytes.loaded() } : state),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    setActions(actions) {
      if ((state.document.head.acts ?? []).join() === actions.join()) return;
      state = { ...state, document: { ...document, head: { ...document.head, acts: [...actions] } } };
      for (const listener of listeners) listener();
    },
    runAction,
    sendHello: () => {},
    decide: () => {},
    stop: () => {},
    bind: () => {},
    dismissCell: () => {},
    ...(bytes && { requestMedia: bytes.request }),
  };
}
