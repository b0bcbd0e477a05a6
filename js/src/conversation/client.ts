import { createClient, INITIAL_STATE, type ClientState as Known } from "../kernel/client";
import type { Model } from "../model";
import { type Document, isDocument, type PageAction } from "../protocol";
import { type OfflineConnection, offlineConnection } from "../saved/offline";

/** What was said, and what came of it. */
export interface SavedTurn {
  prompt: string;
  turn: OfflineConnection;
}

/** All that is shown of the conversation; `turns` is null until the kernel has answered. */
export interface ConversationState extends Known {
  turns: SavedTurn[] | null;
  leftOut: number;
}

/** The page's side of a conversation that is read: it asks for it, and puts cells below. */
export interface ConversationClient {
  state(): ConversationState;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  /** Ask for the conversation as it stands now. */
  refresh(): void;
  /** Put a cell below that says this; it does not run. */
  insertPrompt(text: string): void;
  dismissCell(): void;
  title: string;
}

interface Turn {
  prompt: string;
  document: Document;
  cells: Partial<Record<PageAction, string>>;
}

/** Read a conversation on behalf of one view, until the signal. */
export function createConversationClient(model: Model, signal: AbortSignal): ConversationClient {
  const initial: ConversationState = { ...INITIAL_STATE, turns: null, leftOut: 0 };
  const { request, insertCell, requestMedia, ...asks } = createClient<{ kind: "hello" }, ConversationState>(
    model,
    signal,
    initial,
    (_, message) => {
      const { turns, left_out } = parseConversation(message) ?? {};
      return turns ? { leftOut: left_out ?? 0, turns: turns.map(toSavedTurn) } : null;
    },
  );

  function toSavedTurn({ prompt, document, cells }: Turn): SavedTurn {
    const act = (action: PageAction): void => {
      const text = cells[action];
      if (text) insertCell(text);
    };
    const bytes = {
      request: (key: string): void => requestMedia(document.head.turn_id, key),
      loaded: () => asks.state().media,
    };
    return { prompt, turn: offlineConnection(document, act, bytes) };
  }

  return {
    state: asks.state,
    subscribe: asks.subscribe,
    refresh: () => request({ kind: "hello" }),
    insertPrompt: (text) => insertCell(`${String(model.get("magic") ?? "%%chat")}\n${text}`),
    dismissCell: asks.dismissCell,
    title: String(model.get("title") ?? ""),
  };
}

/** The conversation that a message tells; null where it tells none. */
function parseConversation(message: unknown): { left_out: number; turns: Turn[] } | null {
  const { conversation } = message as { conversation?: { left_out?: unknown; turns?: unknown } };
  const { left_out, turns } = conversation ?? {};
  return typeof left_out === "number" && Array.isArray(turns) && turns.every(isTurn)
    ? { left_out, turns }
    : null;
}

function isTurn(value: unknown): value is Turn {
  const { prompt, document, cells } = (value ?? {}) as Partial<Turn>;
  return typeof prompt === "string" && isDocument(document) && typeof cells === "object" && cells !== null;
}
