/**
 * The connection of a turn's view to the kernel: its document, its requests, and whether it is live,
 * lost or saved.
 */
import type { Model } from "../model";
import { insertOrShow } from "../notebook/insertCell";
import { notebookOf } from "../notebook/notebookModel";
import { replaceOutputs, restoreOutput } from "../notebook/restore";
import {
  type Decision,
  type Document,
  isDocument,
  isKernelMessage,
  type KernelMessage,
  type OutputReplacement,
  type PageAction,
  type PageMessage,
} from "../protocol";
import { apply, decodePatch } from "../store";
import { type ChannelState, openChannel } from "./channel";
import { loadModule } from "./lazy";

/** The connection to the kernel: waiting for its first reply, without one, open, lost, or none: a saved turn. */
export type LinkState = "connecting" | "noReply" | "open" | "lost" | "offline";

/** A request of the person: sent, not acknowledged, refused with a reason, or accepted. */
export type RequestState = { state: "sent" | "noReply" } | { state: "refused" | "accepted"; text: string };

/** The state that the views of a turn show. */
export interface TurnState extends ChannelState {
  document: Document;
  link: LinkState;
  requests: Readonly<Record<string, RequestState>>;
}

/** Reasons typed on a card and not sent yet: they outlive the card, which the lazy module's card may replace. */
export interface DraftReasons {
  /** Reasons, by the digest of their question. */
  reasons: Map<string, string>;
  /** The question whose reason had the focus when its card went away. */
  focusedDigest: string;
}

export interface Connection {
  readonly drafts: DraftReasons;
  state(): TurnState;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  sendHello(): void;
  decide(decision: Decision): void;
  stop(): void;
  /** Stop one running call; its state is in `requests` under `stopRequestKey`. */
  stopCall(callId: string): void;
  /** Bind the result of a call to a name in the notebook; its state is in `requests` under `bindRequestKey`. */
  bind(callId: string, name: string, replace: boolean): void;
  /** Request an action on the turn: a cell, which is inserted below where the page can, or another version. */
  runAction(action: PageAction, version?: number, reference?: string): void;
  /** Insert a code block of the reply as a cell, which does not run. Missing where the page cannot. */
  insertCell?: ((text: string, note?: string) => void) | undefined;
  dismissCell(): void;
  /** Request the bytes of an image or a sound; they arrive in `media`. Missing where there is no kernel. */
  requestMedia?(key: string): void;
}

const ACK_TIMEOUT_MS = 2000;
const HEARTBEAT_MS = 1000;
/** Time without a reply to a ping after which the kernel counts as lost: within five seconds of its last message. */
const PONG_TIMEOUT_MS = 2000;
const MAX_HELLOS = 4;
/** How long pages wait for one another: only the first of them changes a shared notebook. */
const PAGE_ORDER_MS = 1500;
const STOP_REQUEST = "stop";

/** The key in `requests` for binding the result of a call. */
export function bindRequestKey(callId: string): string {
  return `bind ${callId}`;
}

/** The key in `requests` for stopping a call. */
export function stopRequestKey(callId: string): string {
  return `${STOP_REQUEST} ${callId}`;
}

/** Whether the turn still runs, so that a lost kernel matters. */
export function isLive(document: Document): boolean {
  return document.head.status === "running" || document.head.status === "waiting";
}

/** Create the page's copy of a turn, shared by all views of one model, and exchange messages with the kernel. */
export function connectTurn(model: Model, signal: AbortSignal): Connection {
  const initial = model.get("snapshot");
  if (!isDocument(initial)) throw new Error("nbtool: the kernel sent no document of this version.");
  const pending = new Map<string, string>();
  const isReloaded = Boolean(model.get("seen"));
  const first: TurnState = { document: initial, link: "connecting", requests: {} };
  const channel = openChannel(model, signal, first, {
    envelope: () => ({ turn: model.get("turn_id") }),
    accepts: isKernelMessage,
    isConnected: ({ link }) => link === "open",
    onMessage: (message) => receive(message as KernelMessage),
  });
  const { page, state, setTimer } = channel;
  const send: (message: PageMessage) => string = channel.send;
  let seq = 0;
  let gapAt = 0;
  let receivedAt = 0;
  let pingAt = 0;

  function show(change: Partial<TurnState>): void {
    channel.show(change);
    if (change.link) channel.requestModule();
  }

  /** Send an action of the person, and track its acknowledgment. */
  function request(key: string, message: PageMessage): void {
    if (state().requests[key]?.state === "sent") return;
    pending.set(send(message), key);
    setRequest(key, { state: "sent" });
    setTimer(
      () => state().requests[key]?.state === "sent" && setRequest(key, { state: "noReply" }),
      ACK_TIMEOUT_MS,
    );
  }

  function setRequest(key: string, requestState: RequestState): void {
    show({ requests: { ...state().requests, [key]: requestState } });
  }

  function resolveRequest(id: string, requestState: RequestState): void {
    const key = pending.get(id);
    pending.delete(id);
    if (key !== undefined) setRequest(key, requestState);
  }

  function receive(message: KernelMessage): void {
    receivedAt = Date.now();
    pingAt = 0;
    if (state().link === "lost") show({ link: "open" });
    switch (message.kind) {
      case "patches":
        if (message.seq === seq + 1) {
          seq = message.seq;
          show({ document: message.patches.map(decodePatch).reduce(apply, state().document) });
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
        resolveRequest(message.id, { state: message.ok ? "accepted" : "refused", text: message.text });
        return;
      case "ack":
        if (state().link !== "open") show({ link: "open" });
        resolveRequest(message.id, { state: "accepted", text: "" });
        return;
      case "cell": {
        const { ok, text } = message;
        show({ insertedCell: ok ? insertOrShow(model, text) : { state: "refused", text } });
        return;
      }
      case "left":
        takeOver(message);
        return;
    }
  }

  /** Replace the outputs of a turn that left its widget; of several pages only the first one does. */
  function takeOver({ pages, places }: Extract<KernelMessage, { kind: "left" }>): void {
    if (isReloaded && !pages.includes(page)) {
      send({ kind: "hello" }); // the turn ended before the kernel knew this page
      return;
    }
    setTimer(
      () => replaceIfListed(places) && send({ kind: "took" }),
      places.length ? PAGE_ORDER_MS * (pages.indexOf(page) + 1) : 0,
    );
  }

  /** Return whether the outputs are replaced; without a notebook, only a page that saw the turn start reports it. */
  function replaceIfListed(places: OutputReplacement[]): boolean {
    return replaceOutputs(model, places) ?? !isReloaded;
  }

  /** Show the turn under its cell again; send a hello even if connected, because the kernel may wait for a page. */
  function restoreAfterReload(): void {
    restoreOutput(model);
    greet(MAX_HELLOS);
  }

  /** Send hello until the kernel replies, a few times: a page may be ready before the kernel listens. */
  function greet(triesLeft: number): void {
    if (state().link !== "connecting") return;
    if (triesLeft === 0) {
      show({ link: "noReply" });
      return;
    }
    send({ kind: "hello" });
    setTimer(() => greet(triesLeft - 1), HEARTBEAT_MS);
  }

  /** Ping the kernel while the turn runs and nothing has arrived for a second. */
  function checkHeartbeat(): void {
    if (state().link !== "open" || !isLive(state().document)) return;
    const now = Date.now();
    if (pingAt && now - pingAt >= PONG_TIMEOUT_MS) show({ link: "lost" });
    else if (!pingAt && now - receivedAt >= HEARTBEAT_MS) {
      pingAt = now;
      send({ kind: "ping" });
    }
  }

  const adoptSnapshot = (): void => {
    const last = model.get("snapshot");
    if (isDocument(last) && !isLive(last)) show({ document: last });
  };
  const heartbeat = setInterval(checkHeartbeat, HEARTBEAT_MS);
  if (isReloaded) setTimer(restoreAfterReload, PAGE_ORDER_MS);
  const loadFromTrait = (): void => {
    const asset = model.get("rich") as { version?: unknown; packed?: unknown } | undefined;
    if (asset?.version) void loadModule(asset.version, asset.packed);
  };
  loadFromTrait();
  model.on("change:snapshot", adoptSnapshot);
  model.on("change:rich", loadFromTrait);
  signal.addEventListener("abort", () => {
    clearInterval(heartbeat);
    model.off("change:snapshot", adoptSnapshot);
    model.off("change:rich", loadFromTrait);
  });

  return {
    drafts: { reasons: new Map(), focusedDigest: "" },
    state,
    subscribe: channel.subscribe,
    sendHello: () => greet(MAX_HELLOS),
    decide: (decision) => request(decision.digest, decision),
    stop: () => request(STOP_REQUEST, { kind: "stop" }),
    stopCall: (call_id) => request(stopRequestKey(call_id), { kind: "stop_call", call_id }),
    bind: (call_id, name, replace) =>
      request(bindRequestKey(call_id), { kind: "bind", call_id, name, ...(replace && { replace }) }),
    runAction(action) {
      if (action === "bind" || action === "version") return; // offered by saved turns only
      show({ insertedCell: { state: "requested", text: "" } });
      send({ kind: "act", action });
    },
    insertCell:
      notebookOf(model) && ((text, note) => show({ insertedCell: { ...insertOrShow(model, text), note } })),
    dismissCell: () => show({ insertedCell: null }),
    requestMedia: (key) => void send({ kind: "media", key }),
  };
}
