/** Requests of a view to the kernel, and what is known of each: sent, accepted, refused. */
import type { Model } from "../model";
import { type InsertedCell, insertOrShow } from "../notebook/insertCell";
import { openChannel } from "./channel";

/** Milliseconds without a reply after which the page shows that; the kernel may only be busy. */
const NO_REPLY_MS = 2500;

/** What every view shows that sends requests to the kernel. */
export interface ClientState {
  /** The cell that was requested last. */
  insertedCell: InsertedCell | null;
  hasNoReply: boolean;
  /** Bytes of images and sounds, by their keys. */
  media: ReadonlyMap<string, BlobPart>;
}

/** The state before any reply. */
export const INITIAL_STATE: ClientState = { insertedCell: null, hasNoReply: false, media: new Map() };

/** Requests of a view to the kernel, and the state that their replies make; `T` is all that the view shows. */
export interface KernelClient<Q, T extends ClientState> {
  state(): T;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  show(change: Partial<T>): void;
  request(request: Q): void;
  /** Whether a matching request has no reply yet. */
  isPending(matches: (request: Q) => boolean): boolean;
  /** Request the bytes of an image or a sound of a turn; they arrive in `media`. */
  requestMedia(turn: string, key: string): void;
  /** Insert a cell below, where the page can, without running it. */
  insertCell(text: string, note?: string): void;
  dismissCell(): void;
  setTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout>;
}

/**
 * Send requests to the kernel for one view, until the signal. `onAnswer` returns what a reply changes, and null where
 * it is no reply that this page understands.
 */
export function createClient<Q extends { kind: string }, T extends ClientState>(
  model: Model,
  signal: AbortSignal,
  initial: T,
  onAnswer: (request: Q, message: unknown, state: T) => Partial<T> | null,
): KernelClient<Q, T> {
  const pending = new Map<string, Q>();
  let hasReply = false;
  const channel = openChannel<T>(model, signal, initial, { isConnected: () => hasReply, onMessage });

  function onMessage(message: unknown): void {
    const id = String((message as { id?: unknown } | null)?.id);
    const request = pending.get(id);
    const change = request && onAnswer(request, message, channel.state());
    if (!change) return;
    pending.delete(id);
    hasReply = true;
    channel.show({ hasNoReply: false, ...change });
    channel.requestModule();
  }

  const showCell = (insertedCell: InsertedCell | null): void =>
    channel.show({ insertedCell } as Partial<ClientState> as Partial<T>);

  return {
    state: channel.state,
    subscribe: channel.subscribe,
    show: channel.show,
    request(request) {
      const id = channel.send(request);
      pending.set(id, request);
      channel.setTimer(
        () => pending.has(id) && channel.show({ hasNoReply: true } as Partial<ClientState> as Partial<T>),
        NO_REPLY_MS,
      );
    },
    isPending: (matches) => [...pending.values()].some(matches),
    requestMedia: (turn, key) => void channel.send({ kind: "media", turn, key }),
    insertCell: (text, note) => showCell({ ...insertOrShow(model, text), note }),
    dismissCell: () => showCell(null),
    setTimer: channel.setTimer,
  };
}
