/** What came of the questions that are no longer on the card, a line each. */
import type { Block, CallBlock, Document } from "../../protocol";
import { callState, MAX_FACTS, singleLine } from "../../text/format";
import { pendingCalls, safeLine } from "../../views/approval/pending";

/** Characters of a call's arguments in the line about its decision. */
const MAX_NAMED_CHARS = 60;

/** Questions that were on the card, by digest: the call's block, its tool and its round. */
export type Questions = Record<string, { id: string; tool: string; round: number }>;

/** The outcomes of the former questions. Once nothing waits, they are in the log alone, and read to who cannot see. */
export function resolvedQuestions(
  questions: Questions,
  document: Document,
): { digest: string; line: string }[] {
  const pending = new Set(pendingCalls(document).map(({ question }) => question.digest));
  return Object.entries(questions)
    .filter(([digest, { round }]) => !pending.has(digest) && round >= document.head.round)
    .map(([digest, { id, tool }]) => {
      const block = document.blocks.find((one) => one.id === id);
      return {
        digest,
        line: `${callName(block, document.blocks) || singleLine(tool, 60)}: ${outcomeText(digest, block)}`,
      };
    });
}

function outcomeText(digest: string, block: Block | undefined): string {
  if (block?.kind !== "call") return "withdrawn.";
  const decision = block.decisions.find((one) => one.digest === digest);
  if (decision?.by === "expired") return "denied, because nobody decided in time.";
  if (decision) return singleLine(decision.line ?? decision.verdict, MAX_FACTS).replace(/(?<![.!?…])$/, "."); // a reason may end with one
  return block.started === null ? "not run; withdrawn." : `${callState(block)[1]}; withdrawn.`;
}

/** A call in a few words: with its arguments, and with its number where another one of its round reads the same. */
function callName(block: Block | undefined, blocks: readonly Block[]): string {
  if (block?.kind !== "call") return "";
  const round = blocks.filter((one): one is CallBlock => one.kind === "call" && one.round === block.round);
  const names = round.map(
    ({ name, arguments: text, line = text }) => `${singleLine(name, 60)}(${safeLine(line, MAX_NAMED_CHARS)})`,
  );
  const at = round.indexOf(block);
  const name = names[at] ?? "";
  const isUnique = names.indexOf(name) === names.lastIndexOf(name);
  return isUnique ? name : `${name}, call ${at + 1} of ${round.length}`;
}
