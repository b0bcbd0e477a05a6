/** A turn folded up to one of its steps, for the replay slider. */
import type { Block, Document } from "../protocol";
import { VERSION } from "../protocol";
import { apply } from "../store";
import type { Detail } from "./protocol";

/** A turn after some of its steps, and the round in which each block appeared. */
export interface ReplayState {
  document: Document;
  rounds: ReadonlyMap<string, number>;
}

/** Fold a turn up to a step; 0 is before anything happened. */
export function replayTo(detail: Detail, stepCount: number): ReplayState {
  let document = EMPTY_DOCUMENT;
  const rounds = new Map<string, number>();
  for (const step of detail.steps.slice(0, stepCount)) {
    for (const patch of step.patches) {
      document = apply(document, patch);
      if (patch.op === "open") rounds.set(patch.block.id, document.head.round);
    }
  }
  return { document, rounds };
}

/** The blocks of each round in order. */
export function byRound({ document, rounds }: ReplayState): { round: number; blocks: Block[] }[] {
  const groups: { round: number; blocks: Block[] }[] = [];
  for (const block of document.blocks) {
    const round = rounds.get(block.id) ?? 0;
    const last = groups.at(-1);
    if (last?.round === round) last.blocks.push(block);
    else groups.push({ round, blocks: [block] });
  }
  return groups;
}

const EMPTY_DOCUMENT: Document = {
  v: VERSION,
  head: {
    turn_id: "",
    model: "",
    prompt: "",
    status: "running",
    round: 0,
    calls: 0,
    activity: "",
    usage: { input_tokens: 0, output_tokens: 0, cached_tokens: 0, thinking_tokens: 0, cost: null },
    started: null,
    seconds: null,
    error: "",
  },
  blocks: [],
};
