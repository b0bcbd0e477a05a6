/** The state of `%chat show`: the turns of a conversation, as received from the kernel. */
import type { ModelChoice } from "../generated";
import { createClient, INITIAL_STATE, type ClientState as Known } from "../kernel/client";
import type { Model } from "../model";
import { type ActionId, type Document, isDocument } from "../protocol";
import { type OfflineConnection, offlineConnection } from "../saved/offline";

/** A prompt and its turn. */
export interface SavedTurn {
  prompt: string;
  turn: OfflineConnection;
}

/** The state of the conversation; `turns` is null until the kernel has answered. */
export interface ConversationState extends Known {
  turns: SavedTurn[] | null;
  leftOut: number;
  /** The models for the next prompt, that of the chat first. */
  models: readonly ModelChoice[];
}

/** The page's client of a conversation: requests it, and inserts cells below. */
export interface ConversationClient {
  state(): ConversationState;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  /** Request the current conversation. */
  refresh(): void;
  /** Insert a cell with this prompt below, for a model or that of the chat; it does not run. */
  insertPrompt(text: string, model?: ModelChoice): void;
  /** Insert a cell below that writes the chat to a file. */
  insertExport(): void;
  dismissCell(): void;
  title: string;
  /** Whether the conversation is one that was saved: then no kernel is asked. */
  isSaved?: boolean;
  /** What of a saved conversation is not shown. */
  note?: string;
}

interface Turn {
  prompt: string;
  document: Document;
  cells: Partial<Record<ActionId, string>>;
}

/** Create the client of one view, until the signal is aborted. */
export function createConversationClient(model: Model, signal: AbortSignal): ConversationClient {
  const magic = String(model.get("magic") ?? "%%chat");
  const initial: ConversationState = { ...INITIAL_STATE, turns: null, leftOut: 0, models: [] };
  const { request, insertCell, requestMedia, ...asks } = createClient<{ kind: "hello" }, ConversationState>(
    model,
    signal,
    initial,
    (_, message) => {
      const { turns, left_out, models } = parseConversation(message) ?? {};
      return turns ? { leftOut: left_out ?? 0, turns: turns.map(toSavedTurn), models: models ?? [] } : null;
    },
  );

  function toSavedTurn({ prompt, document, cells }: Turn): SavedTurn {
    const act = (action: ActionId): void => {
      const text = cells[action];
      if (text) insertCell(text);
    };
    const bytes = {
      request: (key: string): void => requestMedia(document.head.turn_id, key),
      loaded: () => asks.state().media,
    };
    return { prompt, turn: offlineConnection(document, act, { bytes, insertCell }) };
  }

  return {
    state: asks.state,
    subscribe: asks.subscribe,
    refresh: () => request({ kind: "hello" }),
    insertPrompt: (text, choice) => insertCell(`${choice?.magic || magic}\n${text}`),
    insertExport: () => insertCell(`${magic.replace("%%", "%")} export md`),
    dismissCell: asks.dismissCell,
    title: String(model.get("title") ?? ""),
  };
}

/** Return the conversation in a message; null if it has none. */
function parseConversation(
  message: unknown,
): { left_out: number; turns: Turn[]; models: ModelChoice[] } | null {
  const { conversation } = message as {
    conversation?: { left_out?: unknown; turns?: unknown; models?: unknown };
  };
  const { left_out, turns, models = [] } = conversation ?? {};
  const isConversation = typeof left_out === "number" && Array.isArray(turns) && turns.every(isTurn);
  return isConversation && Array.isArray(models) && models.every(isModelChoice)
    ? { left_out, turns, models }
    : null;
}

function isModelChoice(value: unknown): value is ModelChoice {
  const { name, note, magic } = (value ?? {}) as Partial<ModelChoice>;
  return [name, note, magic].every((text) => typeof text === "string");
}

function isTurn(value: unknown): value is Turn {
  const { prompt, document, cells } = (value ?? {}) as Partial<Turn>;
  return typeof prompt === "string" && isDocument(document) && typeof cells === "object" && cells !== null;
}
