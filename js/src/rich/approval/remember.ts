/** What an approval can be remembered for, in words. These labels are generated from nbtool/blocks/labels.py. */
import { singleLine } from "../../text/format";
import {
  rememberChoices as choices,
  rememberCallInstead,
  rememberLabels,
  rememberToolWarning,
} from "../../text/labels.json";
import type { Draft } from "./drafts";

/** What follows the word for yes on the button. */
export const REMEMBER_LABELS: Record<Draft["remember"], string> = rememberLabels;

const MAX_NAME = 40;

/** The choices, the narrowest first; `hasCall` is whether the arguments can be remembered. */
export function rememberChoices(hasCall: boolean, tool: string): (readonly [scope: string, label: string])[] {
  return choices
    .filter(([scope]) => hasCall || scope !== "call")
    .map(([scope = "", label = ""]) => [scope, withTool(label, tool)] as const);
}

/** What a person is warned of before an approval is remembered for a whole tool. */
export function rememberWarning(hasCall: boolean, tool: string): string {
  return withTool(rememberToolWarning, tool) + (hasCall ? rememberCallInstead : "");
}

function withTool(text: string, tool: string): string {
  return text.replace("{tool}", () => singleLine(tool, MAX_NAME));
}
