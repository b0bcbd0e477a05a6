/** What kernel and page say to each other. Mirrors nbtool/blocks/protocol.py and nbtool/view/turn_messages.py. */

export const VERSION = 1;

export type Gate = "run" | "result";
export type Verdict = "approved" | "denied" | "released" | "withheld";
export type CallState =
  | "writing"
  | "ready"
  | "waiting"
  | "running"
  | "ok"
  | "error"
  | "denied"
  | "withheld"
  | "not_found"
  | "invalid"
  | "timed_out"
  | "cancelled"
  | "not_run"
  | "unknown";
export type TurnStatus = "running" | "waiting" | "completed" | "cancelled" | "error" | "timeout" | "parked";

/** What a person is asked at a gate, and the digest that a decision must carry back. */
export interface QuestionData {
  gate: Gate;
  digest: string;
  tool: string;
  shown: string;
  description: string;
  schema: Record<string, unknown>;
  can_remember: boolean;
  sensitive: boolean;
  notice?: string;
  effect?: string;
  media?: MediaData[];
  /** What cannot be watched for changes. */
  notes?: string[];
  again?: ReaskData;
  /** Whether an approval of these very arguments can be remembered; it can where nothing is said. */
  can_remember_call?: boolean;
}

/** One thing that is not what it was when it was shown. */
export interface DifferenceData {
  what: string;
  before: string;
  after: string;
}

/** Why a call is asked about once more. */
export interface ReaskData {
  reason: "changed" | "unwatched" | "invalid";
  differences: DifferenceData[];
  /** Why the arguments that a person put in do not fit. */
  problem: string;
  /** Those arguments, as JSON. */
  edited: string;
}

/** What was decided at a gate, and by whom. */
export interface DecisionData {
  gate: Gate;
  digest: string;
  verdict: Verdict;
  by: string;
  reason: string;
  edited: boolean;
  /** Why it did not count, and the call was asked about again. */
  again?: { reason: "changed" | "unwatched" | "invalid"; problem: string };
}

/** For each text that was too long to show: how many characters were left out. */
export type OmittedChars = Record<string, number>;

/** Prose of the model: its reply, its thinking, or its refusal. */
export interface ProseBlock {
  id: string;
  kind: "text" | "thinking";
  text: string;
  refusal: boolean;
  state: "open" | "whole" | "cut";
  more: OmittedChars;
}

/** The first rows of something that a reference stood for. */
export interface TablePreview {
  columns: string[];
  rows: string[][];
  /** How many rows and columns of it are not shown. */
  more_rows?: number;
  more_columns?: number;
}

/** An image, a sound or a file of a tool or an attachment; `key` names its bytes, and `data` holds them where it is saved. */
export interface MediaData {
  key: string;
  mime: string;
  name: string;
  size: number;
  data?: string;
}

/** What a reference stands for: its name with keys or slice, its type and shape, and these without columns. */
export interface ResolvedReference {
  name: string;
  text: string;
  summary: string;
}

/** An argument as it will run: its JSON and the references in it; one that is a reference is nothing else. */
export interface ResolvedArgument {
  text: string;
  references: ResolvedReference[];
  is_reference: boolean;
}

/** One call from its first character to its outcome; `shown` is what the model read, where the person sees more. */
export interface CallBlock {
  id: string;
  kind: "call";
  call_id: string;
  name: string;
  round: number;
  arguments: string;
  resolved: Record<string, ResolvedArgument>;
  repaired: string[];
  state: CallState;
  question: QuestionData | null;
  decisions: DecisionData[];
  progress: string;
  fraction: number | null;
  result: string;
  reason: string;
  reference: string;
  started: number | null;
  seconds: number | null;
  more: OmittedChars;
  shown?: string;
  glances?: Record<string, TablePreview>;
  media?: MediaData[];
  media_left_out?: number;
  /** Where the person's own code failed; no model is told it. */
  traceback?: string;
  /** What the model asked for, where a person put other `arguments` in its place. */
  asked_arguments?: string;
}

/** Something the person should know. */
export interface NoticeBlock {
  id: string;
  kind: "notice";
  text: string;
  level: "info" | "warning" | "error";
}

export type Block = ProseBlock | CallBlock | NoticeBlock;

export interface UsageData {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  thinking_tokens: number;
  cost: number | null;
}

/** What is said of the turn as a whole. */
export interface Head {
  turn_id: string;
  model: string;
  prompt: string;
  status: TurnStatus;
  round: number;
  calls: number;
  activity: string;
  usage: UsageData;
  started: number | null;
  seconds: number | null;
  error: string;
  why?: string;
  chat?: string;
  replayed?: string;
  version?: number;
  versions?: number;
  turns?: string[];
  attached?: MediaData[];
  end_reason?: string;
  acts?: string[];
  /** Whether some of the turn is left out here. */
  cut?: boolean;
}

/** A turn as it stands. */
export interface Document {
  v: typeof VERSION;
  head: Head;
  blocks: Block[];
}

export type Patch =
  | { op: "open"; block: Block }
  | { op: "extend"; id: string; field: "text" | "arguments" | "progress"; text: string }
  | { op: "update"; id: string; set: Record<string, unknown> }
  | { op: "head"; set: Partial<Head> };

/** A patch as it travels: what comes many times a second is the id of a block, the text, and its field but for `text`. */
export type EncodedPatch = Patch | [id: string, text: string, field?: "arguments" | "progress"];

/** What stands in the place of an output from now on; `was` is the widget that it showed, or its plain text. */
export interface OutputReplacement {
  was: string;
  data: Record<string, unknown>;
}

/** Kernel → page; `left` names the pages, the newest first; `rich` and `media` come with one buffer. */
export type KernelMessage =
  | { v: 1; kind: "rich"; version: string }
  | { v: 1; kind: "media"; key: string }
  | { v: 1; kind: "patches"; seq: number; patches: EncodedPatch[] }
  | { v: 1; kind: "snapshot"; seq: number; document: Document }
  | { v: 1; kind: "ack" | "pong"; id: string }
  | { v: 1; kind: "decided"; id: string; digest: string; ok: boolean; text: string }
  | { v: 1; kind: "cell"; id: string; ok: boolean; text: string }
  | { v: 1; kind: "left"; pages: string[]; places: OutputReplacement[] }
  | { v: 1; kind: "bound"; id: string; call_id: string; ok: boolean; name: string; text: string };

/** Page → kernel; the connection adds version, turn, nonce and id. Edited arguments travel as the text of their JSON. */
export type PageMessage =
  | { kind: "hello" | "stop" | "resync" | "ping" | "rich" | "took" }
  | { kind: "act"; deed: TurnAction; version?: number }
  | { kind: "media"; key: string }
  | { kind: "approve"; digest: string; remember?: "call" | "tool"; arguments?: string }
  | { kind: "deny" | "withhold"; digest: string; reason?: string }
  | { kind: "release"; digest: string; text?: string }
  | { kind: "bind"; call_id: string; name: string; replace?: boolean };

/** What can be done with a whole turn: a cell that does it is written below, and nothing runs. */
export type TurnAction = "rerun" | "edit" | "code" | "version" | "explore";

/** A decision of the person. */
export type Decision = Extract<PageMessage, { digest: string }>;

/** Whether a value is a turn's document. */
export function isDocument(value: unknown): value is Document {
  return isObject(value) && value.v === VERSION && isObject(value.head) && Array.isArray(value.blocks);
}

/** Whether a message of the kernel is one that this page understands. */
export function isKernelMessage(value: unknown): value is KernelMessage {
  if (!isObject(value) || value.v !== VERSION) return false;
  switch (value.kind) {
    case "patches":
      return typeof value.seq === "number" && Array.isArray(value.patches) && value.patches.every(isPatch);
    case "snapshot":
      return typeof value.seq === "number" && isDocument(value.document);
    case "rich":
      return typeof value.version === "string";
    case "media":
      return typeof value.key === "string";
    case "left":
      return Array.isArray(value.pages) && Array.isArray(value.places) && value.places.every(isReplacement);
    case "ack":
    case "pong":
    case "decided":
    case "cell":
    case "bound":
      return typeof value.id === "string";
    default:
      return false;
  }
}

function isReplacement(value: unknown): boolean {
  return isObject(value) && typeof value.was === "string" && isObject(value.data);
}

function isPatch(value: unknown): boolean {
  if (Array.isArray(value)) return value.length <= 3 && value.every((one) => typeof one === "string");
  return isObject(value) && ["open", "extend", "update", "head"].includes(value.op as string);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
