/** The connection of a saved turn, which has no kernel, in the form that the views need. */
import type { Connection, TurnState } from "../kernel/turn";
import type { InsertedCell } from "../notebook/insertCell";
import type { ActionId, Document, SeenData } from "../protocol";

/** What can be done about a turn that is not on the current line. */
export interface LineActions {
  goBack(): void;
  name(name: string): void;
}

/** The id of the notice that a file has of the current line, which was true when the file was written. */
const SAVED_NOTE = "left";

export function hasSavedNote({ blocks }: Document): boolean {
  return blocks.some(({ id }) => id === SAVED_NOTE);
}

function withoutSavedNote(document: Document): Document {
  return { ...document, blocks: document.blocks.filter(({ id }) => id !== SAVED_NOTE) };
}

/** The connection of a turn without a kernel, in the form that the views need. */
export interface OfflineConnection extends Connection {
  /** Say what can be done with the turn now: nothing, where no kernel is. */
  setActions(actions: readonly ActionId[]): void;
  /**
   * Show what an action did; null removes it. With `instead`, only while that is still shown: another action may have
   * followed, or the person closed it.
   */
  showOutcome(outcome: InsertedCell | null, instead?: InsertedCell): void;
  /** Why later prompts do not see the turn, as the kernel says, and what can be done about it; missing until it does. */
  readonly line: { note: string; actions: LineActions } | undefined;
  /** Show what the kernel says of the current line, in place of what the file says. */
  setLine(note: string, actions: LineActions): void;
  /** Show what the person sees of results of which the model has a reference, by their calls. */
  setSeen(seen: Readonly<Record<string, SeenData>>): void;
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
  let line: OfflineConnection["line"];
  return {
    get line() {
      return line;
    },
    setLine(note, actions) {
      line = { note, actions };
      show({ document: withoutSavedNote(state.document) });
    },
    setSeen(seen) {
      const blocks = state.document.blocks.map((block) => {
        const own = block.kind === "call" && Object.hasOwn(seen, block.call_id) && seen[block.call_id];
        return own ? { ...block, seen: own } : block;
      });
      show({ document: { ...state.document, blocks } });
    },
    drafts: { reasons: new Map(), focusedDigest: "" },
    state: () => (bytes ? { ...state, media: bytes.loaded() } : state),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    setActions(actions) {
      const { head } = state.document;
      if ((head.acts ?? []).join() === actions.join()) return;
      show({ document: { ...state.document, head: { ...head, acts: [...actions] } } });
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
