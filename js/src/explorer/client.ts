/** The state of the explorer, and its requests to the kernel. */
import { createClient, INITIAL_STATE, type ClientState as Known } from "../kernel/client";
import type { Model } from "../model";
import { insertOrShow } from "../notebook/insertCell";
import type { Found } from "./listRows";
import {
  type Answer,
  type CellRequest,
  type Detail,
  type ExplorerRequest,
  type Index,
  isAnswer,
  type Totals,
} from "./protocol";

/** Turns of which this page keeps the details; the one that was opened longest ago is forgotten first. */
const MAX_DETAILS = 24;

/** Milliseconds after the last key before a search is requested. */
const SEARCH_DELAY_MS = 200;

/** The state of the explorer, as received from the kernel. */
export interface ExplorerState extends Known {
  index: Index | null;
  details: ReadonlyMap<string, Detail | string>;
  found: Found;
  totals: Totals | null;
}

/** The explorer's client of the kernel: sends requests and keeps the answers. */
export interface ExplorerClient {
  state(): ExplorerState;
  /** Add a listener for changes; return a function that removes it. */
  subscribe(listener: () => void): () => void;
  /** Request the current tree; loaded turns are requested again. */
  refresh(): void;
  open(turn: string): void;
  /** Search when the typing rests, or now. */
  search(text: string, isNow?: boolean): void;
  requestTotals(): void;
  /** Request the bytes of an image or a sound of a turn; they arrive in `media`. */
  requestMedia(turn: string, key: string): void;
  /** Request a cell; it is inserted below this one where the page can. */
  requestCell(cell: CellRequest): void;
  /** Request that a turn's branch becomes a chat of its own with this name. */
  nameBranch(turn: string, name: string): void;
  dismissCell(): void;
  title: string;
  /** The turn that is open first; empty for the last one. */
  initialTurn: string;
  actions: readonly string[];
  /** Whether the conversation is one that was saved: then no kernel is asked. */
  isSaved?: boolean;
  /** What of a saved conversation is not shown. */
  note?: string;
}

const INITIAL_EXPLORER_STATE: ExplorerState = {
  ...INITIAL_STATE,
  index: null,
  details: new Map(),
  found: null,
  totals: null,
};

/** Speak with the kernel on behalf of one explorer, until the signal. */
export function createExplorerClient(model: Model, signal: AbortSignal): ExplorerClient {
  const client = createClient<ExplorerRequest, ExplorerState>(
    model,
    signal,
    INITIAL_EXPLORER_STATE,
    (question, message, heard) => (isAnswer(message) ? changesFrom(model, heard, question, message) : null),
  );
  const { state, show, request, isPending } = client;
  let searchTimer: ReturnType<typeof setTimeout> | undefined;

  return {
    state,
    subscribe: client.subscribe,
    refresh() {
      show({ details: new Map(), totals: null });
      request({ kind: "hello" });
    },
    open(turn) {
      const isOpened = isPending((one) => one.kind === "open" && one.turn === turn);
      if (!isOpened && !state().details.has(turn)) request({ kind: "open", turn });
    },
    search(text, isNow = false) {
      clearTimeout(searchTimer);
      const words = text.slice(0, 200);
      const isPendingSearch = isPending((one) => one.kind === "search" && one.text === words);
      if (text.trim() === "") show({ found: null });
      else if (!isNow)
        searchTimer = client.setTimer(() => request({ kind: "search", text: words }), SEARCH_DELAY_MS);
      else if (!isPendingSearch) request({ kind: "search", text: words });
    },
    requestTotals() {
      if (!isPending(({ kind }) => kind === "totals") && !state().totals) request({ kind: "totals" });
    },
    requestMedia: client.requestMedia,
    requestCell(wanted) {
      show({ insertedCell: { state: "requested", text: "" } });
      request({ kind: "cell", ...wanted });
    },
    nameBranch(turn, name) {
      show({ insertedCell: { state: "requested", text: "" } });
      request({ kind: "name", turn, name });
    },
    dismissCell: client.dismissCell,
    title: String(model.get("title") ?? ""),
    initialTurn: String(model.get("turn") ?? ""),
    actions: toStrings(model.get("acts")),
  };
}

/** What an answer changes. */
function changesFrom(
  model: Model,
  heard: ExplorerState,
  question: ExplorerRequest,
  answer: Answer,
): Partial<ExplorerState> {
  switch (answer.kind) {
    case "index":
      return { index: answer.index };
    case "turn":
      return { details: withDetail(heard.details, answer.detail.turn_id, answer.detail) };
    case "found": {
      const turns = new Map(answer.found.map((one) => [one.turn_id, one.snippet]));
      return question.kind === "search" ? { found: { text: question.text, turns } } : {};
    }
    case "totals":
      return { totals: answer.totals };
    case "cell":
      return question.kind === "cell" ? { insertedCell: insertOrShow(model, answer.text) } : {};
    case "named":
      return { insertedCell: { state: "done", text: answer.text } };
    case "refused":
      if (question.kind === "open") return { details: withDetail(heard.details, question.turn, answer.text) };
      return ["cell", "name"].includes(question.kind)
        ? { insertedCell: { state: "refused", text: answer.text } }
        : {};
  }
}

function withDetail(
  details: ReadonlyMap<string, Detail | string>,
  turn: string,
  detail: Detail | string,
): ReadonlyMap<string, Detail | string> {
  const others = [...details].filter(([id]) => id !== turn);
  return new Map([...others.slice(-(MAX_DETAILS - 1)), [turn, detail]]);
}

function toStrings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
