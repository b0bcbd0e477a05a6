/** The connection of a saved turn, which has no kernel, in the form that the views need. */
import type { Connection, TurnState } from "../kernel/turn";
import type { InsertedCell } from "../notebook/insertCell";
import type { ActionId, Document } from "../protocol";

/** The connection of a turn without a kernel, in the form that the views need. */
export interface OfflineConnection extends Connection {
  /** Say what can be done with the turn now: nothing, where no kernel is. */
  setActions(actions: readonly ActionId[]): void;
  /**
   * Show what an action did; null removes it. With `instead`, only while that is still shown: another action may have
   * followed, or the person closed it.
   */
  showOutcome(outcome: InsertedCell | null, instead?: InsertedCell): void;
}

/** The source of the bytes of images and sounds, and those that are loaded. */
interface MediaLoader {
  request(key: string): void;
  loaded(): ReadonlyMap<string, BlobPart>;
}

/** Create the connection of a saved turn; what the page does for it are `runAction` and `insertCell`. */
export function offlineConnection(
  document: Document,
  runAction: Connection["runAction"],
  {
    bytes,
    insertCell,
    resend,
  }: { bytes?: MediaLoader; insertCell?: Connection["insertCell"]; resend?: Connection["resend"] } = {},
): OfflineConnection {
  const listeners = new Set<() => void>();
  let state: TurnState = { document, link: "offline", requests: {} };
  const show = (change: Partial<TurnState>): void => {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  };
  const showOutcome = (insertedCell: InsertedCell | null, instead?: InsertedCell): void => {
    if (!instead || instead === state.insertedCell) show({ insertedCell });
  };
  return {
    drafts: { reasons: new Map(), focusedDigest: "" },
    state: () => (bytes ? { ...state, media: bytes.loaded() } : state),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    setActions(actions) {
      if ((state.document.head.acts ?? []).join() === actions.join()) return;
      show({ document: { ...document, head: { ...document.head, acts: [...actions] } } });
    },
    showOutcome,
    runAction,
    sendPresence: () => {},
    sendHello: () => {},
    sendGone: () => {},
    decide: () => {},
    stop: () => {},
    stopCall: () => {},
    bind: () => {},
    insertCell,
    resend,
    dismissCell: () => showOutcome(null),
    ...(bytes && { requestMedia: bytes.request }),
  };
}
