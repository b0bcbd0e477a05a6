/**
 * The link of a running view to the kernel: its hello, what is acknowledged, whether the kernel still answers, and how
 * its output is left at the end.
 */
import type { Model } from "../model";
import { contextOf } from "../notebook/notebookModel";
import { replaceOutputs, restoreOutput } from "../notebook/restore";
import { keepForm } from "../notebook/savedForm";
import type { AckMessage, OutputReplacement, ReplacedMessage, SavedFormMessage } from "../protocol";
import { type Channel, type ChannelState, openChannel } from "./channel";
import { sessionOf } from "./control";

/** The connection to the kernel: waiting for its first reply, without one, open, lost, or none: a saved turn. */
export type LinkState = "connecting" | "noReply" | "open" | "lost" | "offline";

/** A request of the person: sent, not acknowledged, refused with a reason, or accepted. */
export type RequestState = { state: "sent" | "noReply" } | { state: "refused" | "accepted"; text: string };

/** The part of a view's state that the link keeps. */
export interface LinkedState extends ChannelState {
  link: LinkState;
  requests: Readonly<Record<string, RequestState>>;
}

/** The key in `requests` of a request to stop. */
export const STOP_REQUEST = "stop";

/** What a page says first: that it has the model of a view, and that it draws it. */
export type Greeting = "present" | "hello";

export const ACK_TIMEOUT_MS = 2000;
const HEARTBEAT_MS = 1000;
/** Time without a reply to a ping after which the kernel counts as lost: within five seconds of its last message. */
const PONG_TIMEOUT_MS = 2000;
const MAX_HELLOS = 4;
/** How long pages wait for one another: only the first of them changes a shared notebook. */
const PAGE_ORDER_MS = 1500;

interface Options<T, K> {
  /** What every message carries besides version, nonce and id. */
  envelope?: () => object;
  /** Whether a message from the kernel is one that this page understands. */
  accepts: (message: unknown) => boolean;
  /** Whether the view still runs, so that a lost kernel matters. */
  isLive: (state: T) => boolean;
  /** Whether the view has ended, so that its output is replaced. */
  isOver: (state: T) => boolean;
  /** Called with each message but those that the link itself handles. */
  onMessage: (message: K) => void;
}

export interface Link<T extends LinkedState> extends Channel<T> {
  /** Report that the page has the view, or draws it, until the kernel replies. */
  greet(kind: Greeting): void;
  /** Send an action of the person, and track its acknowledgment under a key of `requests`. */
  request<M extends { kind: string }>(key: string, message: M): void;
  resolveRequest(id: string, requestState: RequestState): void;
  /** When the last message of the kernel arrived. */
  receivedAt(): number;
}

/** Link a view to the kernel, until the signal. */
export function openLink<T extends LinkedState, K extends { kind: string }>(
  model: Model,
  signal: AbortSignal,
  initial: T,
  { envelope, accepts, isLive, isOver, onMessage }: Options<T, K>,
): Link<T> {
  const pending = new Map<string, string>();
  /** The ids of greetings that the kernel has not answered. */
  const greetings = new Map<string, Greeting>();
  const isReloaded = Boolean(model.get("seen"));
  const channel = openChannel(model, signal, initial, {
    ...(envelope && { envelope }),
    accepts,
    isConnected: ({ link }) => link === "open",
    onMessage: (message) => receive(message as K | AckMessage | ReplacedMessage | SavedFormMessage),
  });
  const { page, state, setTimer, send } = channel;
  const setForm = keepForm(model, signal, () => isOver(state()));
  let receivedAt = 0;
  let pingAt = 0;

  function show(change: Partial<T>): void {
    channel.show(change);
    if (change.link) channel.requestModule();
  }

  const showLink = (change: Partial<LinkedState>): void => show(change as Partial<T>);

  function request<M extends { kind: string }>(key: string, message: M): void {
    if (state().requests[key]?.state === "sent") return;
    pending.set(send(message), key);
    setRequest(key, { state: "sent" });
    setTimer(
      () => state().requests[key]?.state === "sent" && setRequest(key, { state: "noReply" }),
      ACK_TIMEOUT_MS,
    );
  }

  function setRequest(key: string, requestState: RequestState): void {
    showLink({ requests: { ...state().requests, [key]: requestState } });
  }

  function resolveRequest(id: string, requestState: RequestState): void {
    const key = pending.get(id);
    pending.delete(id);
    if (key !== undefined) setRequest(key, requestState);
  }

  function receive(message: K | AckMessage | ReplacedMessage | SavedFormMessage): void {
    receivedAt = Date.now();
    pingAt = 0;
    if (state().link === "lost") showLink({ link: "open" });
    if (message.kind === "ack") {
      forgetGreeting((message as AckMessage).id);
      if (state().link !== "open") showLink({ link: "open" });
      resolveRequest((message as AckMessage).id, { state: "accepted", text: "" });
    } else if (message.kind === "left") takeOver(message as ReplacedMessage);
    else if (message.kind === "form") setForm((message as SavedFormMessage).data);
    else onMessage(message as K);
  }

  /** Replace the outputs of a view that left its widget; of several pages only the first one does. */
  function takeOver({ pages, places }: ReplacedMessage): void {
    if (isReloaded && !pages.includes(page)) {
      send({ kind: "hello", ...describePage(model) }); // it ended before the kernel knew this page
      return;
    }
    setTimer(
      () => replaceIfListed(places) && send({ kind: "took" }),
      places.length ? PAGE_ORDER_MS * (pages.indexOf(page) + 1) : 0,
    );
  }

  /** Return whether the outputs are replaced; without a notebook, only a page that saw the start reports it. */
  function replaceIfListed(places: OutputReplacement[]): boolean {
    return replaceOutputs(model, places) ?? !isReloaded;
  }

  /** Show the view under its cell again; send a hello even if connected, because the kernel may wait for a page. */
  function restoreAfterReload(): void {
    restoreOutput(model);
    if (state().link === "connecting") greet("hello");
  }

  /** Greet until the kernel replies, a few times: a page may be ready before the kernel listens. */
  function greet(kind: Greeting, triesLeft = MAX_HELLOS): void {
    if (triesLeft === 0) {
      if (state().link === "connecting") showLink({ link: "noReply" });
      return;
    }
    const id = send({ kind, ...describePage(model) });
    greetings.set(id, kind);
    setTimer(() => greetings.has(id) && greet(kind, triesLeft - 1), HEARTBEAT_MS);
  }

  /** Greet no more in this way: the kernel has heard it. */
  function forgetGreeting(id: string): void {
    const heard = greetings.get(id);
    for (const [one, kind] of [...greetings]) if (kind === heard) greetings.delete(one);
  }

  /** Ping the kernel while the view runs and nothing has arrived for a second. */
  function checkHeartbeat(): void {
    if (state().link !== "open" || !isLive(state())) return;
    const now = Date.now();
    if (pingAt && now - pingAt >= PONG_TIMEOUT_MS) showLink({ link: "lost" });
    else if (!pingAt && now - receivedAt >= HEARTBEAT_MS) {
      pingAt = now;
      send({ kind: "ping" });
    }
  }

  const heartbeat = setInterval(checkHeartbeat, HEARTBEAT_MS);
  if (isReloaded) setTimer(restoreAfterReload, PAGE_ORDER_MS);
  signal.addEventListener("abort", () => clearInterval(heartbeat));

  return {
    ...channel,
    show,
    greet,
    request,
    resolveRequest,
    receivedAt: () => receivedAt,
  };
}

/** What a greeting says of a page that writes the notebook's file. */
export function describePage(model: Model): { notebook?: string; session?: string } {
  const [notebook, session] = [contextOf(model)?.path, sessionOf(model)];
  return notebook ? { notebook, ...(session && { session }) } : {};
}
