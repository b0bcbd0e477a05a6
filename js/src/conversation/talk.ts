import type { Model } from "../connection";
import { type Notebook, placed, type Written } from "../place";
import { type Deed, type Document, isDocument, VERSION } from "../protocol";
import { claimAsking, load, onRich } from "../rich";
import { type Still, still } from "../saved/still";

/** Milliseconds without an answer after which the page says so; the kernel may only be busy. */
const SILENT_MS = 2500;

/** What was said, and what came of it. */
export interface Told {
  prompt: string;
  turn: Still;
}

/** All that is shown of the conversation; `turns` is null until the kernel has answered. */
export interface Heard {
  turns: Told[] | null;
  leftOut: number;
  written: Written | null;
  isSilent: boolean;
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

interface Answer {
  left_out: number;
  turns: { prompt: string; document: Document; cells: Partial<Record<Deed, string>> }[];
}

/** Read a conversation on behalf of one view, until the signal. */
export function talk(model: Model & Notebook, signal: AbortSignal): Talk {
  const listeners = new Set<() => void>();
  const page = Math.random().toString(36).slice(2, 10);
  let heard: Heard = { turns: null, leftOut: 0, written: null, isSilent: false };
  let asked = "";
  let count = 0;

  function show(change: Partial<Heard>): void {
    heard = { ...heard, ...change };
    for (const listener of [...listeners]) listener();
  }

  function ask(kind: "hello" | "rich"): string {
    const id = `${page}-${++count}`;
    model.send({ v: VERSION, nonce: model.get("nonce"), id, kind });
    return id;
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    const told = message as { kind?: unknown; id?: unknown; version?: unknown; conversation?: unknown };
    if (told?.kind === "rich") void load(told.version, buffers[0]);
    if (told?.kind !== "conversation" || told.id !== asked || !isAnswer(told.conversation)) return;
    const { left_out, turns } = told.conversation;
    asked = "";
    show({
      isSilent: false,
      leftOut: left_out,
      turns: turns.map(({ prompt, document, cells }) => ({
        prompt,
        turn: still(document, (deed) => put(cells[deed] ?? "")),
      })),
    });
    askForRich();
  }

  function put(text: string): void {
    if (text) show({ written: placed(model, text) });
  }

  const askForRich = (): void => {
    if (heard.turns && claimAsking()) ask("rich");
  };
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
    refresh() {
      const id = ask("hello");
      asked = id;
      const timer = setTimeout(() => asked === id && show({ isSilent: true }), SILENT_MS);
      signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    },
    say: (text) => put(`${String(model.get("magic") ?? "%%chat")}\n${text}`),
    closeWritten: () => show({ written: null }),
    title: String(model.get("title") ?? ""),
  };
}

function isAnswer(value: unknown): value is Answer {
  const { turns, left_out } = (value ?? {}) as Partial<Answer>;
  return typeof left_out === "number" && Array.isArray(turns) && turns.every(isTurn);
}

function isTurn(value: unknown): boolean {
  const { prompt, document, cells } = (value ?? {}) as Partial<Answer["turns"][number]>;
  return typeof prompt === "string" && isDocument(document) && typeof cells === "object" && cells !== null;
}
