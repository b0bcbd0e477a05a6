import { type Notebook, placed, type Written } from "../notebook/insertCell";
import { VERSION } from "../protocol";
import { claimAsking, load, onRich } from "./lazy";
import type { Model } from "./turn";

/** Milliseconds without an answer after which the page says so; the kernel may only be busy. */
const SILENT_MS = 2500;

/** What every view that asks shows of what it heard. */
export interface Heard {
  /** The cell that was asked for last. */
  written: Written | null;
  isSilent: boolean;
  /** Bytes of images and sounds, by their keys. */
  media: ReadonlyMap<string, BlobPart>;
}

/** What nothing was heard of yet. */
export const UNHEARD: Heard = { written: null, isSilent: false, media: new Map() };

/** The side of a view that asks the kernel, and keeps what is answered; `T` is all that it shows. */
export interface Asking<Q, T extends Heard> {
  heard(): T;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  show(change: Partial<Heard | T>): void;
  ask(question: Q): void;
  /** Whether an answer to such a question is waited for. */
  isAsked(about: (question: Q) => boolean): boolean;
  /** Ask for the bytes of an image or a sound of a turn; they come to stand in `media`. */
  look(turn: string, key: string): void;
  /** Put a cell below, where the page can; it does not run. */
  put(text: string): void;
  closeWritten(): void;
  later(deed: () => void, ms: number): ReturnType<typeof setTimeout>;
}

/**
 * Speak with the kernel on behalf of one view, until the signal. `answered` says what an answer changes, and null where it
 * is none that this page understands.
 */
export function asking<Q extends { kind: string }, T extends Heard>(
  model: Model & Notebook,
  signal: AbortSignal,
  first: T,
  answered: (question: Q, message: unknown, heard: T) => Partial<T> | null,
): Asking<Q, T> {
  const listeners = new Set<() => void>();
  const waiting = new Map<string, Q>();
  const page = Math.random().toString(36).slice(2, 10);
  let heard = first;
  let isAnswered = false;
  let count = 0;

  function show(change: Partial<Heard | T>): void {
    heard = { ...heard, ...change };
    for (const listener of [...listeners]) listener();
  }

  function send(message: object): string {
    const id = `${page}-${++count}`;
    model.send({ v: VERSION, nonce: model.get("nonce"), id, ...message });
    return id;
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    const told = (message ?? {}) as { kind?: unknown; id?: unknown; version?: unknown; key?: unknown };
    if (told.kind === "rich") void load(told.version, buffers[0]);
    else if (told.kind === "media" && ArrayBuffer.isView(buffers[0]))
      show({ media: new Map(heard.media).set(String(told.key), buffers[0] as BlobPart) });
    else take(String(told.id), message);
  }

  function take(id: string, message: unknown): void {
    const question = waiting.get(id);
    const change = question && answered(question, message, heard);
    if (!change) return;
    waiting.delete(id);
    isAnswered = true;
    show({ isSilent: false, ...change });
    askForRich();
  }

  function askForRich(): void {
    if (isAnswered && claimAsking()) send({ kind: "rich" });
  }

  function later(deed: () => void, ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => !signal.aborted && deed(), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    return timer;
  }

  const undo = onRich(askForRich);
  model.on("msg:custom", receive);
  signal.addEventListener("abort", () => {
    undo();
    model.off("msg:custom", receive);
  });

  return {
    heard: () => heard,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    show,
    ask(question) {
      const id = send(question);
      waiting.set(id, question);
      later(() => waiting.has(id) && show({ isSilent: true }), SILENT_MS);
    },
    isAsked: (about) => [...waiting.values()].some(about),
    look: (turn, key) => void send({ kind: "media", turn, key }),
    put: (text) => show({ written: placed(model, text) }),
    closeWritten: () => show({ written: null }),
    later,
  };
}
