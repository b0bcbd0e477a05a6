import { asking, type Heard as Known, UNHEARD } from "../kernel/client";
import type { Model } from "../kernel/turn";
import { type Notebook, placed } from "../notebook/insertCell";
import {
  type Answer,
  type CellWanted,
  type Detail,
  type Index,
  isAnswer,
  type Question,
  type Totals,
} from "./protocol";

/** Turns of which this page keeps the details; the one that was opened longest ago is forgotten first. */
const KEPT = 24;

/** Milliseconds after the last key before the kernel is asked to search. */
const TYPED_MS = 200;

/** All that the explorer shows of what the kernel told it. */
export interface Heard extends Known {
  index: Index | null;
  details: ReadonlyMap<string, Detail | string>;
  found: { text: string; turns: ReadonlyMap<string, string> } | null;
  totals: Totals | null;
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
  /** Ask for the bytes of an image or a sound of a turn; they come to stand in `media`. */
  look(turn: string, key: string): void;
  /** Have a cell written, and put below this one where the page can. */
  write(wanted: CellWanted): void;
  closeWritten(): void;
  title: string;
  /** The turn that is open first; empty for the last one. */
  first: string;
  acts: readonly string[];
}

const NOTHING: Heard = { ...UNHEARD, index: null, details: new Map(), found: null, totals: null };

/** Speak with the kernel on behalf of one explorer, until the signal. */
export function talk(model: Model & Notebook, signal: AbortSignal): Talk {
  const asks = asking<Question, Heard>(model, signal, NOTHING, (question, message, heard) =>
    isAnswer(message) ? changed(model, heard, question, message) : null,
  );
  const { heard, show, ask, isAsked } = asks;
  let typed: ReturnType<typeof setTimeout> | undefined;

  return {
    heard,
    subscribe: asks.subscribe,
    refresh() {
      show({ details: new Map(), totals: null });
      ask({ kind: "hello" });
    },
    open(turn) {
      const isOpened = isAsked((one) => one.kind === "open" && one.turn === turn);
      if (!isOpened && !heard().details.has(turn)) ask({ kind: "open", turn });
    },
    search(text) {
      clearTimeout(typed);
      if (text.trim() === "") show({ found: null });
      else typed = asks.later(() => ask({ kind: "search", text: text.slice(0, 200) }), TYPED_MS);
    },
    askTotals() {
      if (!isAsked(({ kind }) => kind === "totals") && !heard().totals) ask({ kind: "totals" });
    },
    look: asks.look,
    write(wanted) {
      show({ written: { state: "asked", text: "" } });
      ask({ kind: "cell", ...wanted });
    },
    closeWritten: asks.closeWritten,
    title: String(model.get("title") ?? ""),
    first: String(model.get("turn") ?? ""),
    acts: listed(model.get("acts")),
  };
}

/** What an answer changes. */
function changed(model: Model & Notebook, heard: Heard, question: Question, answer: Answer): Partial<Heard> {
  switch (answer.kind) {
    case "index":
      return { index: answer.index };
    case "turn":
      return { details: kept(heard.details, answer.detail.turn_id, answer.detail) };
    case "found": {
      const turns = new Map(answer.found.map((one) => [one.turn_id, one.snippet]));
      return question.kind === "search" ? { found: { text: question.text, turns } } : {};
    }
    case "totals":
      return { totals: answer.totals };
    case "cell":
      return question.kind === "cell" ? { written: placed(model, answer.text) } : {};
    case "refused":
      if (question.kind === "open") return { details: kept(heard.details, question.turn, answer.text) };
      return question.kind === "cell" ? { written: { state: "refused", text: answer.text } } : {};
  }
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
