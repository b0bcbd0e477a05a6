/** The two answers to a question and their keys, from the table of nbtool/view/actions.py. */
import type { QuestionData, QuestionKind } from "../../protocol";
import { answerKeys, answers, reasonHints } from "../../text/actions.json";

interface Answer {
  label: string;
  kind: "approve" | "deny" | "release" | "withhold";
}

interface Answers {
  yes: Answer;
  no: Answer;
}

/** The keys, as in `aria-keyshortcuts`; Cmd counts as Ctrl. */
export const [APPROVE_KEYS, DENY_KEYS] = answerKeys as [string, string];

/** What stands in the empty field for a reason, by the gate of the question. */
export const REASON_HINTS: Record<QuestionData["gate"], string> = reasonHints;

/** The answers to a question, each with its button's name and its message. */
export function answersTo({ gate, is_form, sign_in }: QuestionData): Answers {
  const kind: QuestionKind = sign_in !== undefined ? "sign_in" : is_form ? "form" : gate;
  const [yes, no] = answers[kind] as [Answer, Answer];
  return { yes, no };
}
