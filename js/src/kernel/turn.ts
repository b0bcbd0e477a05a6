import { type Notebook, placed, type Written } from "../notebook/insertCell";
import { leave, putBack } from "../notebook/restore";
import {
  type Decision,
  type Deed,
  type Document,
  isDocument,
  isKernelMessage,
  type PageMessage,
  type Place,
  VERSION,
} from "../protocol";
import { apply, unpacked } from "../store";
import { claimAsking, load, onRich } from "./lazy";

/** Hears a change, or a message with its buffers. */
export type Listener = (content: unknown, buffers?: unknown[]) => void;

/** As much of anywidget's model as is used here: https://anywidget.dev/en/afm/ */
export interface Model {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, listener: Listener): void;
  off(event: string, listener: Listener): void;
}

/** How it stands with the way to the kernel: no answer yet, never one, answers, no longer any, or a saved turn. */
export type Link = "new" | "unheard" | "open" | "gone" | "still";

/** What became of something that was sent: on its way, not acknowledged, refused with a text, or taken. */
export type Sent = { state: "sent" | "unheard" } | { state: "refused" | "taken"; text: string };

/** All that views show. */
export interface Shown {
  document: Document;
  link: Link;
  sent: Readonly<Record<string, Sent>>;
  /** The cell that was asked for last. */
  written?: Written | null;
  /** Bytes of images and sounds, by their keys. */
  media?: ReadonlyMap<string, BlobPart>;
}

/** What a person has begun to type on a card and not yet sent: it outlives the card, which a fuller one may replace. */
export interface Typed {
  /** Reasons, by the digest of their question. */
  reasons: Map<string, string>;
  /** The question whose reason had the focus when its card went away. */
  at: string;
}

export interface Connection {
  readonly typed: Typed;
  shown(): Shown;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  hello(): void;
  decide(decision: Decision): void;
  stop(): void;
  /** Give the result of a call a name in the notebook; what became of it stands in `sent` under `bind` and the call. */
  bind(callId: string, name: string, replace: boolean): void;
  /** Have a cell written that does something with the whole turn, and put below where the page can. */
  act(deed: Deed, version?: number): void;
  closeWritten(): void;
  /** Ask for the bytes of an image or a sound; they come to stand in `media`. Nobody can be asked where it is missing. */
  look?(key: string): void;
}

const ACK_MS = 2000;
const LOOK_MS = 1000;
/** Silence after a ping for so long, and the kernel is gone: within five seconds of its last word in all. */
const PONG_MS = 2000;
const HELLOS = 4;
/** How long pages wait for one another, and for a notebook that they share: only the first of them changes it. */
const TURN_MS = 1500;
const STOP = "stop";

/** Under which key it stands in `sent` what became of binding a call's result. */
export function bindKey(callId: string): string {
  return `bind ${callId}`;
}

/** Whether the turn goes on, so that a kernel which falls silent matters. */
export function isLive(document: Document): boolean {
  return document.head.status === "running" || document.head.status === "waiting";
}

/** Hold the page's copy of a turn, shared by all views of one model, and speak with the kernel. */
export function connect(model: Model & Notebook, signal: AbortSignal): Connection {
  const listeners = new Set<() => void>();
  const page = Math.random().toString(36).slice(2, 10);
  const waiting = new Map<string, string>();
  const first = model.get("snapshot");
  if (!isDocument(first)) throw new Error("nbtool: the kernel sent no document of this version.");
  const anew = Boolean(model.get("seen"));
  let shown: Shown = { document: first, link: "new", sent: {} };
  let seq = 0;
  let count = 0;
  let gapAt = 0;
  let heardAt = 0;
  let pingAt = 0;

  function show(change: Partial<Shown>): void {
    shown = { ...shown, ...change };
    if (change.link) askForRich();
    for (const listener of listeners) listener();
  }

  function say(message: PageMessage): string {
    const id = `${page}-${++count}`;
    model.send({ v: VERSION, turn: model.get("turn_id"), nonce: model.get("nonce"), id, ...message });
    return id;
  }

  /** Send something the person did, and see whether the kernel takes note of it. */
  function request(key: string, message: PageMessage): void {
    if (shown.sent[key]?.state === "sent") return;
    waiting.set(say(message), key);
    mark(key, { state: "sent" });
    later(() => shown.sent[key]?.state === "sent" && mark(key, { state: "unheard" }), ACK_MS);
  }

  function mark(key: string, sent: Sent): void {
    show({ sent: { ...shown.sent, [key]: sent } });
  }

  function settled(id: string, sent: Sent): void {
    const key = waiting.get(id);
    waiting.delete(id);
    if (key !== undefined) mark(key, sent);
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    if (!isKernelMessage(message)) return;
    heardAt = Date.now();
    pingAt = 0;
    if (shown.link === "gone") show({ link: "open" });
    switch (message.kind) {
      case "patches":
        if (message.seq === seq + 1) {
          seq = message.seq;
          show({ document: message.patches.map(unpacked).reduce(apply, shown.document) });
        } else if (message.seq > seq && heardAt - gapAt > ACK_MS) {
          gapAt = heardAt;
          say({ kind: "resync" });
        }
        return;
      case "snapshot":
        seq = message.seq;
        gapAt = 0;
        show({ document: message.document, link: "open" });
        return;
      case "decided":
      case "bound":
        settled(message.id, { state: message.ok ? "taken" : "refused", text: message.text });
        return;
      case "ack":
        if (shown.link !== "open") show({ link: "open" });
        settled(message.id, { state: "taken", text: "" });
        return;
      case "cell":
        show({
          written: message.ok ? placed(model, message.text) : { state: "refused", text: message.text },
        });
        return;
      case "rich":
        void load(message.version, buffers[0]);
        return;
      case "media":
        if (ArrayBuffer.isView(buffers[0]))
          show({ media: new Map(shown.media).set(message.key, buffers[0] as BlobPart) });
        return;
      case "left":
        if (anew && !message.pages.includes(page)) {
          say({ kind: "hello" }); // so quickly was the turn decided: the kernel does not know yet that this page is there
          return;
        }
        later(
          () => isLeft(message.places) && say({ kind: "took" }),
          message.places.length ? TURN_MS * (message.pages.indexOf(page) + 1) : 0,
        );
        return;
      case "pong":
        return;
    }
  }

  /** Whether the page shows what stays of the turn; where it cannot know, only a page that saw the turn begin does. */
  function isLeft(places: Place[]): boolean {
    return leave(model, places) ?? !anew;
  }

  /** Stand under the cell again; the kernel is greeted even where the output is there: it may wait for a page to take it. */
  function comeBack(): void {
    putBack(model);
    greet(HELLOS);
  }

  /** Ask for the second module where it is wanted, and nobody has asked. */
  function askForRich(): void {
    if (shown.link === "open" && claimAsking()) say({ kind: "rich" });
  }

  /** Say hello until the kernel answers, a few times: a page may be there before the kernel's ears are. */
  function greet(left: number): void {
    if (shown.link !== "new") return;
    if (left === 0) {
      show({ link: "unheard" });
      return;
    }
    say({ kind: "hello" });
    later(() => greet(left - 1), LOOK_MS);
  }

  /** Ask for a sign of life while the turn goes on and nothing has come for a second. */
  function look(): void {
    if (shown.link !== "open" || !isLive(shown.document)) return;
    const now = Date.now();
    if (pingAt && now - pingAt >= PONG_MS) show({ link: "gone" });
    else if (!pingAt && now - heardAt >= LOOK_MS) {
      pingAt = now;
      say({ kind: "ping" });
    }
  }

  function later(deed: () => void, ms: number): void {
    const timer = setTimeout(() => !signal.aborted && deed(), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  const adopt = (): void => {
    const last = model.get("snapshot");
    if (isDocument(last) && !isLive(last)) show({ document: last });
  };
  const looking = setInterval(look, LOOK_MS);
  if (anew) later(comeBack, TURN_MS);
  const undo = onRich(askForRich);
  const take = (): void => {
    const sent = model.get("rich") as { version?: unknown; packed?: unknown } | undefined;
    if (sent?.version) void load(sent.version, sent.packed);
  };
  take();
  model.on("msg:custom", receive);
  model.on("change:snapshot", adopt);
  model.on("change:rich", take);
  signal.addEventListener("abort", () => {
    clearInterval(looking);
    undo();
    model.off("msg:custom", receive);
    model.off("change:snapshot", adopt);
    model.off("change:rich", take);
  });

  return {
    typed: { reasons: new Map(), at: "" },
    shown: () => shown,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    hello: () => greet(HELLOS),
    decide: (decision) => request(decision.digest, decision),
    stop: () => request(STOP, { kind: "stop" }),
    bind: (call_id, name, replace) =>
      request(bindKey(call_id), { kind: "bind", call_id, name, ...(replace && { replace }) }),
    act(deed, version) {
      show({ written: { state: "asked", text: "" } });
      say({ kind: "act", deed, ...(version && { version }) });
    },
    closeWritten: () => show({ written: null }),
    look: (key) => say({ kind: "media", key }),
  };
}
