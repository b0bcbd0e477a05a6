import type { SavedConversation } from "../generated";
import { INITIAL_STATE } from "../kernel/client";
import { offlineConnection } from "../saved/offline";
import { parseSavedTurn } from "../saved/parse";
import { unknownFieldsNote } from "../saved/unknownFields";
import type { ConversationClient, ConversationState } from "./client";

/** Characters of a saved conversation as JSON, and of a prompt in it; turns of it. */
const MAX_CHARS = 320_000;
const MAX_PROMPT_CHARS = 20_000;
const MAX_TURNS = 50;

/** A saved conversation; `note` says what of it is not known here. */
type ParsedConversation = SavedConversation & { note?: string };

/** Parse a saved conversation; null if any part is invalid: nothing invalid of a file is shown. */
export function parseSavedConversation(value: unknown): ParsedConversation | null {
  try {
    const { v, title, left_out, turns, ...others } = value as SavedConversation;
    if (v !== 1 || typeof title !== "string" || title.length > 300) return null;
    if (!Number.isInteger(left_out) || left_out < 0 || !Array.isArray(turns) || turns.length > MAX_TURNS)
      return null;
    if (JSON.stringify(value).length > MAX_CHARS) return null;
    const parsed = turns.map(({ prompt, document }) => ({ prompt, document: parseSavedTurn(document) }));
    const isValid = parsed.every(
      ({ prompt, document }) => typeof prompt === "string" && prompt.length <= MAX_PROMPT_CHARS && document,
    );
    const note = unknownFieldsNote(Object.keys(others).length);
    if (!isValid) return null;
    return { v, title, left_out, turns: parsed as SavedConversation["turns"], ...(note && { note }) };
  } catch {
    return null; // not an object, or nested too deeply
  }
}

/** Create the client of a saved conversation: it has what was saved, and acts on nothing. */
export function createSavedClient({ title, left_out, turns, note }: ParsedConversation): ConversationClient {
  const state: ConversationState = {
    ...INITIAL_STATE,
    leftOut: left_out,
    models: [],
    turns: turns.map(({ prompt, document }) => ({ prompt, turn: offlineConnection(document, () => {}) })),
  };
  return {
    state: () => state,
    subscribe: () => () => {},
    refresh: () => {},
    insertPrompt: () => {},
    insertExport: () => {},
    dismissCell: () => {},
    title,
    isSaved: true,
    ...(note && { note }),
  };
}
