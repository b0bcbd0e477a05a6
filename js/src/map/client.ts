/** The connection of a map's view to the kernel: how far it is, and the request to stop it. */
import type { MapData, MapRequest, MapStateMessage } from "../generated";
import { type LinkedState, openLink, STOP_REQUEST } from "../kernel/link";
import type { Model } from "../model";
import { isKernelMessage, VERSION } from "../protocol";

/** What the view shows. */
export interface MapState extends LinkedState {
  map: MapData;
}

/** The connection of one map, which all of its views on this page share. */
export interface MapClient {
  state(): MapState;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  sendHello(): void;
  stop(): void;
}

/** Connect a view to its map, until the signal. */
export function connectMap(model: Model, signal: AbortSignal): MapClient {
  const map = model.get("snapshot");
  if (!isMapData(map)) throw new Error("nbtool: the kernel sent no map of this version.");
  const first: MapState = { map, link: "connecting", requests: {} };
  const link = openLink<MapState, MapStateMessage>(model, signal, first, {
    accepts: (message) => isStateMessage(message) || isKernelMessage(message),
    isLive: (state) => isRunning(state.map),
    isOver: (state) => !isRunning(state.map),
    onMessage: (message) => {
      if (message.kind === "map") link.show({ map: message.map, link: "open" });
    },
  });
  const stop: MapRequest = { kind: "stop" };
  return {
    state: link.state,
    subscribe: link.subscribe,
    sendHello: () => link.greet("hello"),
    stop: () => link.request(STOP_REQUEST, stop),
  };
}

/** Whether prompts are still being sent. */
export function isRunning(map: MapData): boolean {
  return map.status === "running";
}

function isStateMessage(value: unknown): value is MapStateMessage {
  const { v, kind, map } = (value ?? {}) as Partial<MapStateMessage>;
  return v === VERSION && kind === "map" && isMapData(map);
}

function isMapData(value: unknown): value is MapData {
  const { status, done, total, label, facts, failures, other_failures, reason, fix } = (value ??
    {}) as Partial<MapData>;
  return (
    [status, label, reason, fix].every((text) => typeof text === "string") &&
    typeof done === "number" &&
    typeof other_failures === "number" &&
    (total === null || typeof total === "number") &&
    isListOfTexts(facts) &&
    isListOfTexts(failures)
  );
}

function isListOfTexts(value: unknown): boolean {
  return (
    Array.isArray(value) && value.every((one) => typeof (one as { text?: unknown } | null)?.text === "string")
  );
}
