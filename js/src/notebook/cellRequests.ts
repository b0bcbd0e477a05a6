/**
 * What a call of the kernel may read and change in the cells of the page's notebook.
 *
 * Every request is checked here as well: its form and bounds, that the cell exists, and that its source is still the
 * one that the person was shown. Changes go through JupyterLab's shared model, so that they can be undone and reach
 * everybody who edits the notebook.
 */
import type { CellKind, NotebookAnswer, NotebookRequest, OutputText, PageCellData } from "../protocol";
import { type Cell, type NotebookModel, type Output, outputsOf } from "./notebookModel";

/** Bounds, as in nbtool/view/notebook_messages.py. */
const MAX_CELLS = 2_000;
const MAX_SOURCE = 200_000;
const MAX_OUTPUTS = 200;
const MAX_OUTPUT_TEXT = 200_000;
/** Characters of all cells of one answer. */
const MAX_ANSWER = 8_000_000;

const HIGH_SURROGATE = /[\ud800-\udbff]/;
const LOW_SURROGATE = /[\udc00-\udfff]/;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const KINDS: readonly string[] = ["code", "markdown", "raw"] satisfies CellKind[];
/** The keys of a cell of a notebook; a cell that is inserted again has no others. */
const CELL_KEYS = new Set([
  "id",
  "cell_type",
  "source",
  "metadata",
  "outputs",
  "execution_count",
  "attachments",
]);

type Shared = NonNullable<NotebookModel["sharedModel"]>;
type Refusal = "missing" | "changed" | "exists" | "unsupported";

/** One cell that is running, which nothing here may change, and those that a call has started. */
export interface CellSession {
  readonly runningCell: string;
  readonly started: Set<string>;
}

/** Start a session of a running cell. */
export function startSession(runningCell: string): CellSession {
  return { runningCell, started: new Set() };
}

/** Answer one request; null where it has not the form of any. */
export function answerRequest(
  notebook: NotebookModel | null | undefined,
  session: CellSession,
  request: unknown,
): NotebookAnswer | null {
  if (!isRequest(request)) return null;
  const shared = notebook?.sharedModel;
  if (!shared?.cells) return refused("unsupported");
  try {
    return perform(notebook as NotebookModel, shared, session, request);
  } catch {
    return refused("unsupported"); // a notebook model of another version
  }
}

function perform(
  notebook: NotebookModel,
  shared: Shared,
  session: CellSession,
  request: NotebookRequest,
): NotebookAnswer {
  const cells = shared.cells ?? [];
  if (request.op === "cells") return readCells(cells, request.output);
  if (request.op === "insert") return insert(shared, cells, request);
  const at = cells.findIndex(({ id }) => id === request.cell);
  const cell = cells[at];
  if (!cell) return refused("missing");
  if (request.op === "cell") return { kind: "cells", cells: [readCell(cell, MAX_OUTPUT_TEXT)], more: 0 };
  if (request.cell === session.runningCell) return refused("unsupported");
  if (request.op === "outputs") return setOutputs(notebook, session, cell, request.outputs);
  if (cell.getSource?.() !== request.expected) return refused("changed");
  switch (request.op) {
    case "edit":
      return edit(cell, request.source);
    case "delete":
      return remove(shared, cells, at);
    case "move":
      return move(shared, cells, at, request);
    case "start":
      return start(session, cell);
  }
}

function insert(
  shared: Shared,
  cells: Cell[],
  { cell: id, after, type, source, raw }: Extract<NotebookRequest, { op: "insert" }>,
): NotebookAnswer {
  if (cells.some((one) => one.id === id)) return refused("exists");
  const before = cells.findIndex((one) => one.id === after);
  if (after && before < 0) return refused("missing");
  if (!shared.insertCell) return refused("unsupported");
  const fresh = { id, cell_type: type, source, metadata: {} };
  shared.insertCell(before + 1, raw ? { ...raw, ...fresh, metadata: raw.metadata ?? {} } : fresh);
  return { kind: "done", cell: id, after };
}

/** Replace the part of a source that differs, so that the person's cursor elsewhere stays where it is. */
function edit(cell: Cell, source: string): NotebookAnswer {
  if (cell.getMetadata?.("editable") === false || !cell.setSource) return refused("unsupported");
  const former = cell.getSource?.() ?? "";
  const shorter = Math.min(former.length, source.length);
  let head = 0;
  while (head < shorter && former[head] === source[head]) head++;
  if (HIGH_SURROGATE.test(former[head - 1] ?? "")) head--; // a character of two halves is not split
  let tail = 0;
  while (tail < shorter - head && former.at(-1 - tail) === source.at(-1 - tail)) tail++;
  if (LOW_SURROGATE.test(former.at(-tail) ?? "") && tail) tail--;
  cell.undoManager?.stopCapturing?.(); // one step of its own, not joined with what the person typed before
  if (cell.updateSource)
    cell.updateSource(head, former.length - tail, source.slice(head, source.length - tail));
  if (cell.getSource?.() !== source) cell.setSource(source);
  cell.undoManager?.stopCapturing?.();
  return { kind: "done", cell: cell.id ?? "" };
}

function remove(shared: Shared, cells: Cell[], at: number): NotebookAnswer {
  const cell = cells[at] as Cell;
  if (cell.getMetadata?.("deletable") === false || !shared.deleteCell || !cell.toJSON)
    return refused("unsupported");
  const raw = cell.toJSON();
  const after = cells[at - 1]?.id ?? "";
  shared.deleteCell(at);
  return { kind: "done", cell: String(raw.id), after, raw };
}

function move(
  shared: Shared,
  cells: Cell[],
  from: number,
  { cell, after, expected_after }: Extract<NotebookRequest, { op: "move" }>,
): NotebookAnswer {
  if (!shared.moveCell) return refused("unsupported");
  if ((cells[from - 1]?.id ?? "") !== expected_after) return refused("changed");
  const before = cells.findIndex((one) => one.id === after);
  if ((after && before < 0) || after === cell) return refused("missing");
  shared.moveCell(from, from <= before ? before : before + 1);
  return { kind: "done", cell, after };
}

function start(session: CellSession, cell: Cell): NotebookAnswer {
  if (cell.cell_type !== "code" || !cell.setOutputs) return refused("unsupported");
  session.started.add(cell.id ?? "");
  cell.setOutputs([]);
  cell.execution_count = null;
  return { kind: "done", cell: cell.id ?? "" };
}

function setOutputs(
  notebook: NotebookModel,
  session: CellSession,
  cell: Cell,
  outputs: object[],
): NotebookAnswer {
  if (!session.started.delete(cell.id ?? "")) return refused("changed"); // no call has started it
  for (const one of notebook.cells ?? []) {
    if (one.id === cell.id) one.trusted = true; // as when the person runs it: what it shows has just run here
  }
  cell.setOutputs?.(outputs);
  return { kind: "done", cell: cell.id ?? "" };
}

// --- reading ------------------------------------------------------------------------------------------------------

function readCells(cells: Cell[], outputLength: number): NotebookAnswer {
  const read: PageCellData[] = [];
  let left = MAX_ANSWER;
  for (const cell of cells.slice(0, MAX_CELLS)) {
    const data = readCell(cell, Math.min(outputLength, MAX_OUTPUT_TEXT));
    left -= data.source.length + data.outputs.reduce((sum, { text }) => sum + text.length, 0);
    if (left < 0) break;
    read.push(data);
  }
  return { kind: "cells", cells: read, more: cells.length - read.length };
}

function readCell(cell: Cell, outputLength: number): PageCellData {
  const source = cell.getSource?.() ?? "";
  const outputs = cell.cell_type === "code" ? outputsOf(cell) : [];
  return {
    id: cell.id ?? "",
    type: cell.cell_type as CellKind,
    source: source.slice(0, MAX_SOURCE),
    length: source.length,
    number: cell.execution_count ?? null,
    outputs: outputs.slice(0, MAX_OUTPUTS).map((output) => readOutput(output, outputLength)),
    more_outputs: Math.max(0, outputs.length - MAX_OUTPUTS),
  };
}

/** One output as text: of an error the end of its traceback, of anything else the start. */
function readOutput({ output_type, text, data, traceback }: Output, limit: number): OutputText {
  if (output_type === "error") {
    const all = (traceback ?? []).join("\n");
    return { kind: "error", text: all.slice(-limit || all.length), length: all.length };
  }
  const shown = text ?? data?.["text/plain"];
  const types = Object.keys(data ?? {}).filter((type) => type !== "text/plain");
  const all = joined(shown) || types.join(", ");
  const kind = types.some((type) => /^(image|audio|video)\//.test(type)) ? "media" : "text";
  const whole = kind === "media" ? `${types.join(", ")} ${joined(shown)}`.trim() : all;
  return { kind, text: whole.slice(0, limit), length: whole.length };
}

function joined(value: unknown): string {
  return Array.isArray(value) ? value.join("") : String(value ?? "");
}

// --- checks -------------------------------------------------------------------------------------------------------

function isRequest(value: unknown): value is NotebookRequest {
  if (!isObject(value)) return false;
  const { op, cell, after, source, expected } = value;
  if (op === "cells") return isCount(value.output);
  if (typeof cell !== "string" || !ID.test(cell)) return false;
  switch (op) {
    case "cell":
      return true;
    case "insert":
      return isPlace(after) && isSource(source) && KINDS.includes(String(value.type)) && isRaw(value.raw);
    case "edit":
      return isSource(source) && isSource(expected);
    case "delete":
    case "start":
      return isSource(expected);
    case "move":
      return isSource(expected) && isPlace(after) && isPlace(value.expected_after);
    case "outputs":
      return Array.isArray(value.outputs) && value.outputs.every(isObject);
    default:
      return false;
  }
}

function isRaw(value: unknown): boolean {
  return value === undefined || (isObject(value) && Object.keys(value).every((key) => CELL_KEYS.has(key)));
}

function isPlace(value: unknown): value is string {
  return value === "" || (typeof value === "string" && ID.test(value));
}

function isSource(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_SOURCE;
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refused(reason: Refusal): NotebookAnswer {
  return { kind: "refused", reason };
}
