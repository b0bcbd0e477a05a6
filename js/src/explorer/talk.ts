import type { Model } from "../connection";
import { type Notebook, placed, type Written } from "../place";
import { VERSION } from "../protocol";
import { claimAsking, load, onRich } from "../rich";
import {
  type Answer,
  type CellWanted,
  type Detail,
  type Index,
  isAnswer,
  type Question,
  type Totals,
} from "./history";

/** Turns of which this page keeps the details; the one that was opened longest ago is forgotten first. */
const KEPT = 24;

/** Milliseconds without an answer after which the page says so; the kernel may only be busy. */
const SILENT_MS = 2500;

/** Milliseconds after the last key before the kernel is asked to search. */
const TYPED_MS = 200;

/** All that the explorer shows of what the kernel told it. */
export interface Heard {
  index: Index | null;
  details: ReadonlyMap<string, Detail | string>;
  found: { text: string; turns: ReadonlyMap<string, string> } | null;
  totals: Totals | null;
  written: Written | null;
  isSilent: boolean;
}

/** The explorer's side of the conversation with the kernel: it asks, and keeps what is answered. */
export interface Talk {
  heard(): Heard;
  /** Listen to changes; gives the undo. */
  subscribe(listener: () => void): () => void;
  /** Ask for the tree as it stands now; what was known of turns is asked for again. */
  refresh(): void;
  open(turn: string): void;
  search(text: string): void;
  askTotals(): void;
  /** Have a cell written, and put below this one where the page can. */
  write(wanted: CellWanted): void;
  closeWritten(): void;
  title: string;
  acts: readonly string[];
}

/** Speak with the kernel on behalf of one explorer, until the signal. */
export function talk(model: Model & Notebook, signal: AbortSignal): Talk {
  const listeners = new Set<() => void>();
  const waiting = new Map<string, Question>();
  const page = Math.random().toString(36).slice(2, 10);
  let heard: Heard = {
    index: null,
    details: new Map(),
    found: null,
    totals: null,
    written: null,
    isSilent: false,
  };
  let count = 0;
  let typed: ReturnType<typeof setTimeout> | undefined;

  function show(change: Partial<Heard>): void {
    heard = { ...heard, ...change };
    for (const listener of [...listeners]) listener();
  }

  function ask(question: Question): void {
    const id = `${page}-${++count}`;
    if (question.kind !== "rich") waiting.set(id, question);
    model.send({ v: VERSION, nonce: model.get("nonce"), id, ...question });
    later(() => waiting.has(id) && show({ isSilent: true }), SILENT_MS);
  }

  function receive(message: unknown, buffers: unknown[] = []): void {
    if (!isAnswer(message)) return;
    if (message.kind === "rich") {
      void load(message.version, buffers[0]);
      return;
    }
    const question = waiting.get(message.id);
    if (!question) return;
    waiting.delete(message.id);
    show({ isSilent: false, ...change(question, message) });
  }

  function change(question: Question, answer: Exclude<Answer, { kind: "rich" }>): Partial<Heard> {
    switch (answer.kind) {
      case "index":
        return { index: answer.index };
      case "turn":
        return { details: kept(heard.details, answer.detail.turn_id, answer.detail) };
      case "found":
        return question.kind === "search"
          ? {
              found: {
                text: question.text,
                turns: new Map(answer.found.map((one) => [one.turn_id, one.snippet])),
              },
            }
          : {};
      case "totals":
        return { totals: answer.totals };
      case "cell":
        return question.kind === "cell" ? { written: placed(model, answer.text) } : {};
      case "refused":
        if (question.kind === "open") return { details: kept(heard.details, question.turn, answer.text) };
        return question.kind === "cell" ? { written: { state: "refused", text: answer.text } } : {};
    }
  }

  function later(deed: () => void, ms: number): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => !signal.aborted && deed(), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
    return timer;
  }

  const askForRich = (): void => {
    if (heard.index && claimAsking()) ask({ kind: "rich" });
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
      show({ details: new Map(), totals: null });
      ask({ kind: "hello" });
    },
    open(turn) {
      const asked = [...waiting.values()].some((one) => one.kind === "open" && one.turn === turn);
      if (!asked && !heard.details.has(turn)) ask({ kind: "open", turn });
    },
    search(text) {
      clearTimeout(typed);
      if (text.trim() === "") show({ found: null });
      else typed = later(() => ask({ kind: "search", text: text.slice(0, 200) }), TYPED_MS);
    },
    askTotals() {
      const asked = [...waiting.values()].some((one) => one.kind === "totals");
      if (!asked && !heard.totals) ask({ kind: "totals" });
    },
    write(wanted) {
      show({ written: { state: "asked", text: "" } });
      ask({ kind: "cell", ...wanted });
    },
    closeWritten: () => show({ written: null }),
    title: String(model.get("title") ?? ""),
    acts: listed(model.get("acts")),
  };
}

function kept(
  details: ReadonlyMap<string, Detail | string>,
  turn: string,
  detail: Detail | string,
): ReadonlyMap<string, Detail | string> {
  const others = [...details].filter(([id]) => id !== turn);
  return new Map([...others.slice(-(KEPT - 1)), [turn, detail]]);
}

function listed(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
