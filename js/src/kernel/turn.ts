import { type InsertedCell, insertOrShow, type WithNotebook } from "../notebook/insertCell";
import { replaceOutputs, restoreOutput } from "../notebook/restore";
import {
  type Decision,
  type Document,
  isDocument,
  isKernelMessage,
  type OutputReplacement,
  type PageMessage,
  type TurnAction,
  VERSION,
} from "../protocol";
import { apply, decodePatch } from "../store";
import { claimRequest, loadModule, onModule } from "./lazy";

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
export type LinkState = "new" | "unheard" | "open" | "gone" | "still";

/** What became of something that was sent: on its way, not acknowledged, refused with a text, or taken. */
export type RequestState = { state: "sent" | "unheard" } | { state: "refused" | "taken"; text: string };

/** All that views show. */
export interface TurnState {
  document: Document;
  link: LinkState;
  requests: Readonly<Record<string, RequestState>>;
  /** The cell that was asked for last. */
  insertedCell?: InsertedCell | null;
  /** Bytes of images and sounds, by their keys. */
  media?: ReadonlyMap<string, BlobPart>;
}

/** What a person has begun to type on a card and not yet sent: it outlives the card, which a fuller one may replace. */
export interface DraftReasons {
  /** Reasons, by the digest of their question. */
  reasons: Map<string, string>;
  /** The question whose reason had the focus when its card went away. */
  focusedDigest: string;
}

export interface Connection {
  readonly drafts: DraftReasons;
  state(): TurnState;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  sendHello(): void;
  decide(decision: Decision): void;
  stop(): void;
  /** Give the result of a call a name in the notebook; what became of it stands in `sent` under `bind` and the call. */
  bind(callId: string, name: string, replace: boolean): void;
  /** Have a cell written that does something with the whole turn, and put below where the page can. */
  runAction(deed: TurnAction, version?: number): void;
  dismissCell(): void;
  /** Ask for the bytes of an image or a sound; they come to stand in `media`. Nobody can be asked where it is missing. */
  requestMedia?(key: string): void;
}

const ACK_TIMEOUT_MS = 2000;
const HEARTBEAT_MS = 1000;
/** Silence after a ping for so long, and the kernel is gone: within five seconds of its last word in all. */
const PONG_TIMEOUT_MS = 2000;
const MAX_HELLOS = 4;
/** How long pages wait for one another, and for a notebook that they share: only the first of them changes it. */
const PAGE_ORDER_MS = 1500;
const STOP_REQUEST = "stop";

/** Under which key it stands in `sent` what became of binding a call's result. */
export function bindRequestKey(callId: string): string {
  return `bind ${callId}`;
}

/** Whether the turn goes on, so that a kernel which falls silent matters. */
export function isLive(document: Document): boolean {
  return document.head.status === "running" || document.head.status === "waiting";
}

/** Hold the page's copy of a turn, shared by all views of one model, and speak with the kernel. */
export function connectTurn(model: Model & WithNotebook, signal: AbortSignal): Connection {
  const listeners = new Set<() => void>();
  const page = Math.random().toString(36).slice(2, 10);
  const pending = new Map<string, string>();
  const initial = model.get("snapshot");
  if (!isDocument(initial)) throw new Error("nbtool: the kernel sent no document of this version.");
  const isReloaded = Boolean(model.get("seen"));
  let state: TurnState = { document: initial, link: "new", requests: {} };
  let seq = 0;
  let messageCount = 0;
  let gapAt = 0;
  let receivedAt = 0;
  let pingAt = 0;

  function show(change: Partial<TurnState>): void {
    state = { ...state, ...change };
    if (change.link) requestModule();
    for (const listener of listeners) listener();
  }

  function send(message: PageMessage): string {
    const id = `${page}-${++messageCount}`;
    model.send({ v: VERSION, turn: model.get("turn_id"), nonce: model.get("nonce"), id, ...message });
    return id;
  }

  /** Send something the person did, and see whether the kernel takes note of it. */
  function request(key: string, message: PageMessage): void {
    if (state.requests[key]?.state === "sent") return;
    pending.set(send(message), key);
    setRequest(key, { state: "sent" });
    setTimer(
      () => state.requests[key]?.state === "sent" && setRequest(key, { state: "unheard" }),
      ACK_TIMEOUT_MS,
    );
  }

  function setRequest(key: string, requestState: RequestState): void {
    show({ requests: { ...state.requests, [key]: requestState } });
  }

  function resolveRequest(id: string, requestState: RequestState): void {
    const key = pending.get(id);
    pending.delete(id);
    if (key !== undefined) setRequest(key, requestState);
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    if (!isKernelMessage(message)) return;
    receivedAt = Date.now();
    pingAt = 0;
    if (state.link === "gone") show({ link: "open" });
    switch (message.kind) {
      case "patches":
        if (message.seq === seq + 1) {
          seq = message.seq;
          show({ document: message.patches.map(decodePatch).reduce(apply, state.document) });
        } else if (message.seq > seq && receivedAt - gapAt > ACK_TIMEOUT_MS) {
          gapAt = receivedAt;
          send({ kind: "resync" });
        }
        return;
      case "snapshot":
        seq = message.seq;
        gapAt = 0;
        show({ document: message.document, link: "open" });
        return;
      case "decided":
      case "bound":
        resolveRequest(message.id, { state: message.ok ? "taken" : "refused", text: message.text });
        return;
      case "ack":
        if (state.link !== "open") show({ link: "open" });
        resolveRequest(message.id, { state: "taken", text: "" });
        return;
      case "cell":
        show({
          insertedCell: message.ok
            ? insertOrShow(model, message.text)
            : { state: "refused", text: message.text },
        });
        return;
      case "rich":
        void loadModule(message.version, buffers[0]);
        return;
      case "media":
        if (ArrayBuffer.isView(buffers[0]))
          show({ media: new Map(state.media).set(message.key, buffers[0] as BlobPart) });
        return;
      case "left":
        if (isReloaded && !message.pages.includes(page)) {
          send({ kind: "hello" }); // so quickly was the turn decided: the kernel does not know yet that this page is there
          return;
        }
        setTimer(
          () => replaceIfListed(message.places) && send({ kind: "took" }),
          message.places.length ? PAGE_ORDER_MS * (message.pages.indexOf(page) + 1) : 0,
        );
        return;
      case "pong":
        return;
    }
  }

  /** Whether the page shows what stays of the turn; where it cannot know, only a page that saw the turn begin does. */
  function replaceIfListed(places: OutputReplacement[]): boolean {
    return replaceOutputs(model, places) ?? !isReloaded;
  }

  /** Stand under the cell again; the kernel is greeted even where the output is there: it may wait for a page to take it. */
  function restoreAfterReload(): void {
    restoreOutput(model);
    greet(MAX_HELLOS);
  }

  /** Ask for the second module where it is wanted, and nobody has asked. */
  function requestModule(): void {
    if (state.link === "open" && claimRequest()) send({ kind: "rich" });
  }

  /** Say hello until the kernel answers, a few times: a page may be there before the kernel's ears are. */
  function greet(triesLeft: number): void {
    if (state.link !== "new") return;
    if (triesLeft === 0) {
      show({ link: "unheard" });
      return;
    }
    send({ kind: "hello" });
    setTimer(() => greet(triesLeft - 1), HEARTBEAT_MS);
  }

  /** Ask for a sign of life while the turn goes on and nothing has come for a second. */
  function checkHeartbeat(): void {
    if (state.link !== "open" || !isLive(state.document)) return;
    const now = Date.now();
    if (pingAt && now - pingAt >= PONG_TIMEOUT_MS) show({ link: "gone" });
    else if (!pingAt && now - receivedAt >= HEARTBEAT_MS) {
      pingAt = now;
      send({ kind: "ping" });
    }
  }

  function setTimer(callback: () => void, ms: number): void {
    const timer = setTimeout(() => !signal.aborted && callback(), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }

  const adoptSnapshot = (): void => {
    const last = model.get("snapshot");
    if (isDocument(last) && !isLive(last)) show({ document: last });
  };
  const heartbeat = setInterval(checkHeartbeat, HEARTBEAT_MS);
  if (isReloaded) setTimer(restoreAfterReload, PAGE_ORDER_MS);
  const unsubscribe = onModule(requestModule);
  const loadFromTrait = (): void => {
    const asset = model.get("rich") as { version?: unknown; packed?: unknown } | undefined;
    if (asset?.version) void loadModule(asset.version, asset.packed);
  };
  loadFromTrait();
  model.on("msg:custom", receive);
  model.on("change:snapshot", adoptSnapshot);
  model.on("change:rich", loadFromTrait);
  signal.addEventListener("abort", () => {
    clearInterval(heartbeat);
    unsubscribe();
    model.off("msg:custom", receive);
    model.off("change:snapshot", adoptSnapshot);
    model.off("change:rich", loadFromTrait);
  });

  return {
    drafts: { reasons: new Map(), focusedDigest: "" },
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    sendHello: () => greet(MAX_HELLOS),
    decide: (decision) => request(decision.digest, decision),
    stop: () => request(STOP_REQUEST, { kind: "stop" }),
    bind: (call_id, name, replace) =>
      request(bindRequestKey(call_id), { kind: "bind", call_id, name, ...(replace && { replace }) }),
    runAction(deed, version) {
      show({ insertedCell: { state: "asked", text: "" } });
      send({ kind: "act", deed, ...(version && { version }) });
    },
    dismissCell: () => show({ insertedCell: null }),
    requestMedia: (key) => send({ kind: "media", key }),
  };
}
