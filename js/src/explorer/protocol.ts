/** What kernel and explorer say to each other. Mirrors nbtool/blocks/history/protocol.py and nbtool/view/explorer_messages.py. */

import type { Patch, TurnStatus } from "../protocol";

export type Party = "model" | "person" | "tool";

/** One turn in a row: what was said, how it ended, what it took. */
export interface Version {
  turn_id: string;
  said: string;
  status: TurnStatus;
  model: string;
  started: number | null;
  seconds: number | null;
  rounds: number;
  calls: number;
  tokens: number;
  cost: number | null;
  tools: string[];
  replayed: string;
  made: string;
}

/** One place of the tree; `parent` is the row of the place before it, -1 for none. */
export interface Row {
  node_id: string;
  parent: number;
  depth: number;
  branches: boolean;
  line: boolean;
  hidden: boolean;
  pinned: boolean;
  current: number;
  versions: Version[];
}

/** The tree, parents before children. */
export interface Index {
  rows: Row[];
  left_out: number;
}

/** A stretch of a turn in which it waited for somebody; in seconds after it began. */
export interface Span {
  who: Party;
  label: string;
  round: number;
  call_id: string;
  start: number;
  end: number;
  state: string;
}

/** One thing that happened, and what it changes. */
export interface Step {
  label: string;
  at: number | null;
  patches: Patch[];
}

/** One turn: its steps, and its time line. */
export interface Detail {
  turn_id: string;
  made: string;
  steps: Step[];
  spans: Span[];
}

/** What something took in all. */
export interface TotalRow {
  name: string;
  count: number;
  failed: number;
  seconds: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

/** What a conversation took. */
export interface Totals {
  turns: number;
  all: TotalRow;
  waited: Record<Party, number>;
  tools: TotalRow[];
  rounds: TotalRow[];
  models: TotalRow[];
}

/** A turn that holds the words of a search. */
export interface SearchHit {
  turn_id: string;
  snippet: string;
}

/** Kernel → page; each answers the message of this id. */
export type Answer =
  | { v: 1; kind: "index"; id: string; index: Index }
  | { v: 1; kind: "turn"; id: string; detail: Detail }
  | { v: 1; kind: "found"; id: string; found: SearchHit[] }
  | { v: 1; kind: "totals"; id: string; totals: Totals }
  | { v: 1; kind: "cell"; id: string; text: string }
  | { v: 1; kind: "refused"; id: string; text: string };

/** What a cell can do; see `asked.py`. */
export type CellAction =
  | "rerun"
  | "edit"
  | "execute"
  | "resume"
  | "switch"
  | "branch"
  | "show"
  | "code"
  | "bind"
  | "go_on";

/** A cell that the person wants written. */
export interface CellRequest {
  deed: CellAction;
  turn: string;
  round?: number;
  call?: string;
}

/** Page → kernel, without its envelope. */
export type ExplorerRequest =
  | { kind: "hello" | "totals" }
  | { kind: "open"; turn: string }
  | { kind: "search"; text: string }
  | ({ kind: "cell" } & CellRequest);

/** Whether a message of the kernel is one that this page understands. */
export function isAnswer(value: unknown): value is Answer {
  if (!isObject(value) || value.v !== 1) return false;
  switch (value.kind) {
    case "index":
      return isObject(value.index) && Array.isArray(value.index.rows);
    case "turn":
      return isObject(value.detail) && Array.isArray(value.detail.steps) && Array.isArray(value.detail.spans);
    case "found":
      return Array.isArray(value.found);
    case "totals":
      return isObject(value.totals) && Array.isArray(value.totals.tools);
    case "cell":
    case "refused":
      return typeof value.text === "string";
    default:
      return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
