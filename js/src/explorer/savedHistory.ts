import { type Schema, Validator } from "@cfworker/json-schema";
import type { SavedHistory } from "../generated";
import { INITIAL_STATE } from "../kernel/client";
import type { Document } from "../protocol";
import { parseSavedTurn } from "../saved/parse";
import { searchableTexts } from "../saved/search";
import { type FieldSchema, keepKnownFields, unknownFieldsNote } from "../saved/unknownFields";
import type { ExplorerClient, ExplorerState } from "./client";
import schema from "./historySchema.json";
import { searchWords } from "./listRows";
import { excerpt } from "./marks";
import type { Detail } from "./protocol";

/** Shown of a turn that is not saved in full. */
const NOT_ENDED = "This turn had not ended when the notebook was saved. Run the cell above to open it.";
const NOT_SAVED = "This turn is too large for the saved notebook. Run the cell above to open it.";

const validator = new Validator(schema as unknown as Schema, "2020-12");

/** A saved conversation; `note` says what of it is not known here. */
type ParsedHistory = SavedHistory & { note?: string };

/** Parse a saved conversation; null if any part is invalid: nothing invalid of a file is shown. */
export function parseSavedHistory(value: unknown): ParsedHistory | null {
  try {
    if ((value as SavedHistory | null)?.v !== 1 || JSON.stringify(value).length > schema.dataLimit)
      return null;
    const isKnown = validator.validate(value).valid;
    const known = isKnown ? { value, removed: 0 } : keepKnownFields(schema as unknown as FieldSchema, value);
    if (!isKnown && (known.removed === 0 || !validator.validate(known.value).valid)) return null;
    const history = known.value as SavedHistory;
    const turns = history.turns.map(({ prompt, document }) => ({
      prompt,
      document: parseSavedTurn(document),
    }));
    const { rows } = history.index;
    const isTree = rows.every(({ parent }, at) => parent < at);
    const isComplete = rows.every(({ versions }) => versions.length > 0);
    const areTurnsValid = turns.every(({ document }) => document !== null);
    return isTree && isComplete && areTurnsValid
      ? {
          ...history,
          turns: turns as SavedHistory["turns"],
          ...(known.removed > 0 && { note: unknownFieldsNote(known.removed) }),
        }
      : null;
  } catch {
    return null; // nested too deeply
  }
}

/** Create the client of a saved conversation: it answers from the data, and acts on nothing. */
export function createSavedClient(history: ParsedHistory): ExplorerClient {
  const listeners = new Set<() => void>();
  const details = new Map<string, Detail | string>();
  const turns = new Map(history.turns.map((turn) => [turn.document.head.turn_id, turn]));
  let state: ExplorerState = { ...INITIAL_STATE, index: history.index, details, found: null, totals: null };

  function show(change: Partial<ExplorerState>): void {
    state = { ...state, ...change };
    for (const listener of listeners) listener();
  }

  function open(turn: string): void {
    if (state.details.has(turn)) return;
    const saved = turns.get(turn);
    const detail = saved ? toDetail(saved.prompt, saved.document) : reasonFor(turn);
    show({ details: new Map(state.details).set(turn, detail) });
  }

  /** Why a turn is not saved in full. */
  function reasonFor(turn: string): string {
    const versions = history.index.rows.flatMap((row) => row.versions);
    const status = versions.find(({ turn_id }) => turn_id === turn)?.status ?? "";
    return ["running", "waiting", "parked"].includes(status) ? NOT_ENDED : NOT_SAVED;
  }

  function search(text: string): void {
    const words = searchWords({ text });
    if (words.length === 0) {
      show({ found: null });
      return;
    }
    const found = new Map<string, string>();
    for (const { turn_id, said, model, tools } of history.index.rows.flatMap((row) => row.versions)) {
      const saved = turns.get(turn_id);
      const inside = saved ? saved.document.blocks.flatMap(searchableTexts) : [];
      const prompt = saved?.prompt ?? said;
      const searchable = [prompt, said, model, turn_id, ...tools, ...inside].join("\n").toLowerCase();
      if (words.every((word) => searchable.includes(word)))
        found.set(turn_id, excerpt(words, prompt, inside));
    }
    show({ found: { text, turns: found } });
  }

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    refresh: () => show({}),
    open,
    search,
    requestTotals: () => show({ totals: history.totals }),
    requestMedia: () => {},
    requestCell: () => {},
    nameBranch: () => {},
    dismissCell: () => {},
    title: history.title,
    initialTurn: history.turn,
    actions: [],
    isSaved: true,
    ...(history.note && { note: history.note }),
  };
}

/** A saved turn as one step. */
function toDetail(prompt: string, { head, blocks }: Document): Detail {
  const patches: Detail["steps"][0]["patches"] = [
    { op: "head", set: { ...head, prompt, round: 0 } }, // the blocks are not divided into rounds
    ...blocks.map((block) => ({ op: "open" as const, block })),
    { op: "head", set: { round: head.round } },
  ];
  return {
    turn_id: head.turn_id,
    made: "",
    steps: [{ label: "The whole turn", at: null, patches }],
    spans: [],
  };
}
