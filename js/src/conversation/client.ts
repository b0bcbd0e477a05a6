import { asking, type Heard as Known, UNHEARD } from "../kernel/client";
import type { Model } from "../kernel/turn";
import type { Notebook } from "../notebook/insertCell";
import { type Deed, type Document, isDocument } from "../protocol";
import { type Still, still } from "../saved/offline";

/** What was said, and what came of it. */
export interface Told {
  prompt: string;
  turn: Still;
}

/** All that is shown of the conversation; `turns` is null until the kernel has answered. */
export interface Heard extends Known {
  turns: Told[] | null;
  leftOut: number;
}

/** The page's side of a conversation that is read: it asks for it, and puts cells below. */
export interface Talk {
  heard(): Heard;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  /** Ask for the conversation as it stands now. */
  refresh(): void;
  /** Put a cell below that says this; it does not run. */
  say(text: string): void;
  closeWritten(): void;
  title: string;
}

interface Turn {
  prompt: string;
  document: Document;
  cells: Partial<Record<Deed, string>>;
}

/** Read a conversation on behalf of one view, until the signal. */
export function talk(model: Model & Notebook, signal: AbortSignal): Talk {
  const first: Heard = { ...UNHEARD, turns: null, leftOut: 0 };
  const { ask, put, look, ...asks } = asking<{ kind: "hello" }, Heard>(model, signal, first, (_, message) => {
    const { turns, left_out } = read(message) ?? {};
    return turns ? { leftOut: left_out ?? 0, turns: turns.map(told) } : null;
  });

  function told({ prompt, document, cells }: Turn): Told {
    const act = (deed: Deed): void => {
      const text = cells[deed];
      if (text) put(text);
    };
    const bytes = {
      look: (key: string): void => look(document.head.turn_id, key),
      media: () => asks.heard().media,
    };
    return { prompt, turn: still(document, act, bytes) };
  }

  return {
    heard: asks.heard,
    subscribe: asks.subscribe,
    refresh: () => ask({ kind: "hello" }),
    say: (text) => put(`${String(model.get("magic") ?? "%%chat")}\n${text}`),
    closeWritten: asks.closeWritten,
    title: String(model.get("title") ?? ""),
  };
}

/** The conversation that a message tells; null where it tells none. */
function read(message: unknown): { left_out: number; turns: Turn[] } | null {
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
