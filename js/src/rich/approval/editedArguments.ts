/** The arguments that a person entered in place of the model's, in brief. */
import type { ArgumentLine, QuestionData } from "../../protocol";
import { shortArguments } from "../../text/argumentLines";
import { parseObject, plural } from "../../text/format";
import { ownProperty, safeLine } from "../../views/approval/pending";

/** The value of an argument that does not fit into a line. */
const UNKNOWN = "…";

/** Characters of a value, which a line then shortens. */
const MAX_VALUE_CHARS = 240;

/** What was made of an edit last: of one that is being typed, each text is another. */
const editCache = new WeakMap<QuestionData, { edited: string; lines: ArgumentLine[] }>();

/** Each argument in brief: one that was not changed as the kernel describes it, any other as it was typed. */
export function summarizeEdited(question: QuestionData, edited: string): ArgumentLine[] {
  const cached = editCache.get(question);
  if (cached?.edited === edited) return cached.lines;
  const original = parseObject(question.shown) ?? {};
  const lines = Object.entries(parseObject(edited) ?? {}).map(([name, value]) => {
    const isUnchanged = JSON.stringify(ownProperty(original, name)) === JSON.stringify(value);
    const known = question.lines?.find((line) => line.name === safeLine(name));
    return isUnchanged && known ? known : editedLine(name, value, edited);
  });
  editCache.set(question, { edited, lines });
  return lines;
}

function editedLine(name: string, value: unknown, edited: string): ArgumentLine {
  const lines = typeof value === "string" ? value.trimEnd().split("\n").length : 1;
  const text = lines > 1 ? `… ${plural(lines, "line")}` : safeLine(exactJson(name, value, edited));
  return { name: safeLine(name), value: text, note: "", details: "", is_complete: false };
}

/** A value as JSON where this is what was typed for certain: JavaScript may have lost digits of its numbers. */
function exactJson(name: string, value: unknown, typed: string): string {
  const json = JSON.stringify(value);
  const isPlain = typeof value !== "object" && (typeof value !== "number" || Number.isSafeInteger(value));
  if (isPlain || value === null) return json;
  const compact = (text: string): string => text.replace(/\s/g, "");
  const member = compact(`${JSON.stringify(name)}:${json}`);
  const isExact = [",", "}"].some((end) => compact(typed).includes(member + end));
  return isExact ? shortArguments(`{"a":${json}}`, MAX_VALUE_CHARS).slice(2) : UNKNOWN;
}
