/**
 * The one way from a view to the kernel and back: messages, their acknowledgements, whether the kernel
 * answers.
 */
import type { Model } from "../model";
import type { InsertedCell } from "../notebook/insertCell";
import { VERSION } from "../protocol";
import { broadcast } from "./broadcast";
import { sendByControl } from "./control";
import { claimRequest, LAZY_NAMES, loadModule, onModule } from "./lazy";

/** What the state of every view has that talks to the kernel. */
export interface ChannelState {
  /** The cell that was requested last. */
  insertedCell?: InsertedCell | null;
  /** Bytes of images and sounds, by their keys. */
  media?: ReadonlyMap<string, BlobPart>;
}

/** The state of one view, and its messages to the kernel. */
export interface Channel<T extends ChannelState> {
  /** Identifies this page in the ids of its messages. */
  readonly page: string;
  state(): T;
  /** Change the state and notify the listeners. */
  show(change: Partial<T>): void;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  /** Send a message and return its id. */
  send<M extends { kind: string }>(message: M): string;
  /** Call back after a time, unless the view was closed. */
  setTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout>;
  /** Request the lazy module from the kernel if a view needs it and it was not requested. */
  requestModule(): void;
}

interface Options<T> {
  /** What every message carries besides version, nonce and id. */
  envelope?: () => object;
  /** Whether a message from the kernel is to be read at all. */
  accepts?: (message: unknown) => boolean;
  /** Whether the kernel is known to reply. */
  isConnected: (state: T) => boolean;
  /** Called with each message but those of the lazy module and of media. */
  onMessage: (message: unknown) => void;
}

/**
 * Send a message over the comm of a model, unless that is closed. A model does not learn that its comm was closed while
 * it was being created, and its `send` throws then: https://github.com/jupyterlab/jupyterlab/blob/main/packages/services/src/kernel/comm.ts
 */
function sendByComm(model: Model, content: object): void {
  try {
    model.send(content);
  } catch (error) {
    console.debug("nbtool: the comm of this view is closed.", error);
  }
}

/** Open the one way between a view and the kernel, until the signal. */
export function openChannel<T extends ChannelState>(
  model: Model,
  signal: AbortSignal,
  initial: T,
  { envelope, accepts = () => true, isConnected, onMessage }: Options<T>,
): Channel<T> {
  const page = Math.random().toString(36).slice(2, 10);
  const listeners = new Set<() => void>();
  let state = initial;
  let count = 0;
  /** Whether the kernel has replied to the last message over the control channel; undefined before its first reply. */
  let isHeard: boolean | undefined;

  function show(change: Partial<T>): void {
    state = { ...state, ...change };
    for (const listener of [...listeners]) listener();
  }

  /**
   * Send a message over the control channel once the kernel is known to read it, and over the comm while it is not, or
   * has not replied to the last one. A hello tries both. A message that arrives twice counts once, by its id.
   */
  function send<M extends { kind: string }>(message: M): string {
    const id = `${page}-${++count}`;
    const content = { v: VERSION, ...envelope?.(), nonce: model.get("nonce"), id, ...message };
    broadcast(model, content);
    if (!isHeard) sendByComm(model, content);
    if (model.get("control") && (isHeard !== undefined || message.kind === "hello")) {
      isHeard &&= false;
      sendByControl(model, id, content, () => {
        isHeard = true;
      });
    }
    return id;
  }

  function setTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => !signal.aborted && callback(), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    return timer;
  }

  function requestModule(): void {
    for (const kind of LAZY_NAMES) if (isConnected(state) && claimRequest(kind)) send({ kind });
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    if (!accepts(message)) return;
    onMessage(message);
    const { kind, version, key } = (message ?? {}) as { kind?: unknown; version?: unknown; key?: unknown };
    if (kind === "rich") void loadModule(version, buffers[0]);
    if (kind !== "media" || !ArrayBuffer.isView(buffers[0])) return;
    const media = new Map(state.media).set(String(key), buffers[0] as BlobPart);
    show({ media } as Partial<ChannelState> as Partial<T>);
  }

  const unsubscribe = LAZY_NAMES.map((name) => onModule(name, requestModule));
  model.on("msg:custom", receive);
  signal.addEventListener("abort", () => {
    for (const end of unsubscribe) end();
    model.off("msg:custom", receive);
  });

  return {
    page,
    state: () => state,
    show,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    send,
    setTimer,
    requestModule,
  };
}
