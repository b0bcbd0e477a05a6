import { type InsertedCell, insertOrShow, type WithNotebook } from "../notebook/insertCell";
import { VERSION } from "../protocol";
import { claimRequest, loadModule, onModule } from "./lazy";
import type { Model } from "./turn";

/** Milliseconds without an answer after which the page says so; the kernel may only be busy. */
const NO_REPLY_MS = 2500;

/** What every view that asks shows of what it heard. */
export interface ClientState {
  /** The cell that was asked for last. */
  insertedCell: InsertedCell | null;
  hasNoReply: boolean;
  /** Bytes of images and sounds, by their keys. */
  media: ReadonlyMap<string, BlobPart>;
}

/** What nothing was heard of yet. */
export const INITIAL_STATE: ClientState = { insertedCell: null, hasNoReply: false, media: new Map() };

/** The side of a view that asks the kernel, and keeps what is answered; `T` is all that it shows. */
export interface KernelClient<Q, T extends ClientState> {
  state(): T;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  show(change: Partial<ClientState | T>): void;
  request(question: Q): void;
  /** Whether an answer to such a question is waited for. */
  isPending(about: (question: Q) => boolean): boolean;
  /** Ask for the bytes of an image or a sound of a turn; they come to stand in `media`. */
  requestMedia(turn: string, key: string): void;
  /** Put a cell below, where the page can; it does not run. */
  insertCell(text: string): void;
  dismissCell(): void;
  setTimer(deed: () => void, ms: number): ReturnType<typeof setTimeout>;
}

/**
 * Speak with the kernel on behalf of one view, until the signal. `answered` says what an answer changes, and null where it
 * is none that this page understands.
 */
export function createClient<Q extends { kind: string }, T extends ClientState>(
  model: Model & WithNotebook,
  signal: AbortSignal,
  initial: T,
  onAnswer: (question: Q, message: unknown, state: T) => Partial<T> | null,
): KernelClient<Q, T> {
  const listeners = new Set<() => void>();
  const pending = new Map<string, Q>();
  const page = Math.random().toString(36).slice(2, 10);
  let heard = initial;
  let isAnswered = false;
  let count = 0;

  function show(change: Partial<ClientState | T>): void {
    heard = { ...heard, ...change };
    for (const listener of [...listeners]) listener();
  }

  function send(message: object): string {
    const id = `${page}-${++count}`;
    model.send({ v: VERSION, nonce: model.get("nonce"), id, ...message });
    return id;
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    const content = (message ?? {}) as { kind?: unknown; id?: unknown; version?: unknown; key?: unknown };
    if (content.kind === "rich") void loadModule(content.version, buffers[0]);
    else if (content.kind === "media" && ArrayBuffer.isView(buffers[0]))
      show({ media: new Map(heard.media).set(String(content.key), buffers[0] as BlobPart) });
    else resolveRequest(String(content.id), message);
  }

  function resolveRequest(id: string, message: unknown): void {
    const request = pending.get(id);
    const change = request && onAnswer(request, message, heard);
    if (!change) return;
    pending.delete(id);
    isAnswered = true;
    show({ hasNoReply: false, ...change });
    requestModule();
  }

  function requestModule(): void {
    if (isAnswered && claimRequest()) send({ kind: "rich" });
  }

  function setTimer(deed: () => void, ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => !signal.aborted && deed(), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    return timer;
  }

  const unsubscribe = onModule(requestModule);
  model.on("msg:custom", receive);
  signal.addEventListener("abort", () => {
    unsubscribe();
    model.off("msg:custom", receive);
  });

  return {
    state: () => heard,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    show,
    request(request) {
      const id = send(request);
      pending.set(id, request);
      setTimer(() => pending.has(id) && show({ hasNoReply: true }), NO_REPLY_MS);
    },
    isPending: (about) => [...pending.values()].some(about),
    requestMedia: (turn, key) => void send({ kind: "media", turn, key }),
    insertCell: (text) => show({ insertedCell: insertOrShow(model, text) }),
    dismissCell: () => show({ insertedCell: null }),
    setTimer,
  };
}
