/** The actions of a saved turn that its kernel answers: the code of its calls, what it changed, and its other versions. */
import type { InsertedCell } from "../notebook/insertCell";
import { type ActionId, type Head, type SavedTurnAnswer, type SavedTurnRequest, VERSION } from "../protocol";
import { TURN_MIME } from "../saved/parse";
import { cellIndex, insertCell } from "./actions";
import type { NotebookPanel } from "./types";

/** A variable that a call's result is kept in, also in a forged turn. */
const VARIABLE = /^[\p{L}_][\p{L}\p{N}_]{0,99}$/u;

/** Return what is requested from the kernel for an action; undefined for one that is a cell. */
export function requestFor(
  action: ActionId,
  head: Head,
  version = 0,
  reference = "",
): SavedTurnRequest | undefined {
  const about = { v: VERSION, chat: head.chat ?? "main", turn: head.turn_id } as const;
  if (action === "code" || action === "undo") return { ...about, kind: action };
  if (action === "bind" && VARIABLE.test(reference)) return { ...about, kind: "bind", reference };
  const other = action === "version" && head.turns?.[version - 1];
  return other ? { ...about, kind: "version", other } : undefined;
}

/** Insert the code of an answer as a cell, or show its version in place of the turn; return the outcome to show. */
export function applyAnswer(
  node: Node,
  panel: NotebookPanel | undefined,
  head: Head,
  { ok, text, source, data }: SavedTurnAnswer,
): InsertedCell {
  if (!ok) return { state: "refused", text };
  if (source !== undefined) return { ...insertCell(node, panel, source), note: text };
  if (data) replaceTurn(node, panel, head.turn_id, data);
  return { state: "done", text };
}

/** Replace the saved output of a turn in the notebook, so that the other version is also saved. */
function replaceTurn(
  node: Node,
  panel: NotebookPanel | undefined,
  turn: string,
  data: Record<string, unknown>,
): void {
  const at = cellIndex(node, panel);
  const cell = at < 0 ? undefined : panel?.content.model?.sharedModel.getCell(at);
  const outputs = cell?.getOutputs?.() ?? [];
  const index = outputs.findIndex(({ data: saved }) => turnOf(saved?.[TURN_MIME]) === turn);
  if (index < 0) return;
  const output = { output_type: "display_data", metadata: {}, data };
  // JupyterLab renders an inserted output after the others, so those after it are added again.
  cell?.updateOutputs?.(index, outputs.length, [output, ...outputs.slice(index + 1)]);
}

function turnOf(saved: unknown): unknown {
  return (saved as { head?: { turn_id?: unknown } } | undefined)?.head?.turn_id;
}
