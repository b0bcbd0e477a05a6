/** The connection of a turn's view to the kernel: its document, and its requests. */
import type { Model } from "../model";
import { insertOrShow } from "../notebook/insertCell";
import { notebookOf } from "../notebook/notebookModel";
import { showAgain } from "../notebook/restore";
import {
  type ActionId,
  type Decision,
  type Document,
  isDocument,
  isKernelMessage,
  type KernelMessage,
  type PageMessage,
} from "../protocol";
import { apply, decodePatch } from "../store";
import { loadModule } from "./lazy";
import { ACK_TIMEOUT_MS, type LinkedState, openLink, STOP_REQUEST } from "./link";
import { noteTurn } from "./turnsOnPage";

export type { LinkState, RequestState } from "./link";

/** The state that the views of a turn show. */
export interface TurnState extends LinkedState {
  document: Document;
}

/** Reasons typed on a card and not sent yet: they outlive the card, which the lazy module's card may replace. */
export interface DraftReasons {
  /** Reasons, by the digest of their question. */
  reasons: Map<string, string>;
  /** The question whose reason had the focus when its card went away. */
  focusedDigest: string;
}

/** Sends the prompt of a saved turn again, in its own cell. */
export interface Resend {
  /** The prompt in the turn's cell; undefined where the cell is none that can be sent again. */
  prompt(): string | undefined;
  /** Send it, or another in its place; what the kernel says, and whether it was sent. */
  send(prompt?: string): Promise<{ isSent: boolean; text: string }>;
}

export interface Connection {
  readonly drafts: DraftReasons;
  state(): TurnState;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  /** Report that the page has the turn, before a view is drawn. */
  sendPresence(): void;
  /** Report that a view is drawn, until the kernel replies. */
  sendHello(): void;
  /** Report that the last view was removed before the end; show a parked turn again, if it still has none. */
  sendGone(isGone: () => boolean): void;
  decide(decision: Decision): void;
  stop(): void;
  /** Add a text to the running turn; its state is in `requests` under the key. Missing where there is no kernel. */
  add?(key: string, text: string): void;
  /** Stop one running call; its state is in `requests` under `stopRequestKey`. */
  stopCall(callId: string): void;
  /** Bind the result of a call to a name in the notebook; its state is in `requests` under `bindRequestKey`. */
  bind(callId: string, name: string, replace: boolean): void;
  /** Request an action on the turn: a cell, which is inserted below where the page can, or another version. */
  runAction(action: ActionId, version?: number, reference?: string): void;
  /** Sends the turn again in its own cell. Missing where the page cannot. */
  readonly resend?: Resend | undefined;
  /** Insert a code block of the reply as a cell, which does not run. Missing where the page cannot. */
  insertCell?: ((text: string, note?: string) => void) | undefined;
  dismissCell(): void;
  /** Request the bytes of an image or a sound; they arrive in `media`. Missing where there is no kernel. */
  requestMedia?(key: string): void;
}

/** A cell that moves is drawn again at once. */
const SHOW_AGAIN_MS = 1500;

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

/** Whether the turn waits for a decision after its cell has ended. */
function isParked(document: Document): boolean {
  return document.head.status === "parked";
}

/** Create the page's copy of a turn, shared by all views of one model, and exchange messages with the kernel. */
export function connectTurn(model: Model, signal: AbortSignal): Connection {
  const initial = model.get("snapshot");
  if (!isDocument(initial)) throw new Error("nbtool: the kernel sent no document of this version.");
  const first: TurnState = { document: initial, link: "connecting", requests: {} };
  const link = openLink<TurnState, KernelMessage>(model, signal, first, {
    envelope: () => ({ turn: model.get("turn_id") }),
    accepts: isKernelMessage,
    isLive: ({ document }) => isLive(document),
    isOver: ({ document }) => !isLive(document) && !isParked(document),
    onMessage: receive,
  });
  const { state, show, request, resolveRequest } = link;
  noteTurn(String(model.get("turn_id")), link, signal);
  const send: (message: PageMessage) => string = link.send;
  let seq = 0;
  let gapAt = 0;

  function receive(message: KernelMessage): void {
    switch (message.kind) {
      case "patches":
        if (message.seq === seq + 1) {
          seq = message.seq;
          show({ document: message.patches.map(decodePatch).reduce(apply, state().document) });
        } else if (message.seq > seq && link.receivedAt() - gapAt > ACK_TIMEOUT_MS) {
          gapAt = link.receivedAt();
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
      case "added":
        resolveRequest(message.id, { state: message.ok ? "accepted" : "refused", text: message.text });
        return;
      case "cell": {
        const { ok, text } = message;
        show({ insertedCell: ok ? insertOrShow(model, text) : { state: "refused", text } });
        return;
      }
    }
  }

  const adoptSnapshot = (): void => {
    const last = model.get("snapshot");
    if (isDocument(last) && !isLive(last)) show({ document: last });
  };
  const loadFromTrait = (): void => {
    const assets = model.get("rich") as { version: unknown; packed: unknown }[] | undefined;
    for (const { version, packed } of assets ?? []) void loadModule(version, packed);
  };
  loadFromTrait();
  model.on("change:snapshot", adoptSnapshot);
  model.on("change:rich", loadFromTrait);
  signal.addEventListener("abort", () => {
    model.off("change:snapshot", adoptSnapshot);
    model.off("change:rich", loadFromTrait);
  });

  return {
    drafts: { reasons: new Map(), focusedDigest: "" },
    state,
    subscribe: link.subscribe,
    sendPresence: () => link.greet("present"),
    sendHello: () => link.greet("hello"),
    sendGone(isGone) {
      const { document } = state();
      if (isLive(document) || isParked(document)) send({ kind: "gone" });
      link.setTimer(() => isGone() && isParked(state().document) && showAgain(model), SHOW_AGAIN_MS);
    },
    decide: (decision) => request(decision.digest, decision),
    stop: () => request(STOP_REQUEST, { kind: "stop" }),
    add: (key, text) => request(key, { kind: "add", text }),
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
