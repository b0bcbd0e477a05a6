/** What the kernel writes into a question, as nbtool/blocks/question.py does. */
import type { ArgumentLine, CallBlock, QuestionData } from "../../src/protocol";
import { shortArguments } from "../../src/text/argumentLines";
import { parseObject, plural } from "../../src/text/format";
import { onlyReference, resolvedText } from "../../src/text/resolved";
import { safeLine } from "../../src/views/approval/pending";

/** The question with its words. */
export function withWords(
  question: QuestionData,
  resolved: CallBlock["resolved"],
  written: string,
): QuestionData {
  const values = question.gate === "run" ? Object.entries(parseObject(question.shown) ?? {}) : [];
  const lines = values.map(([name, value]) => line(name, value, resolved));
  return { ask: parts(question, lines, written), ...(lines.length && { lines }), ...question };
}

function line(name: string, value: unknown, resolved: CallBlock["resolved"]): ArgumentLine {
  const argument = Object.hasOwn(resolved, name) ? resolved[name] : undefined;
  const reference = argument && onlyReference(argument);
  const whole = reference?.name ?? (argument ? resolvedText(argument) : "…");
  const count = typeof value === "string" ? value.trimEnd().split("\n").length : 1;
  const text = count > 1 ? `… ${plural(count, "line")}` : safeLine(whole);
  const note = reference ? safeLine(reference.summary || reference.text) : "";
  const rest = reference?.text.startsWith(note) ? reference.text.slice(note.length) : (reference?.text ?? "");
  const is_complete = text === whole && whole !== "…" && /^[\w-]{1,60}$/.test(name);
  return {
    name: safeLine(name),
    value: text,
    note,
    details: safeLine(rest.replace(/^: /, ""), 1_000),
    is_complete,
  };
}

function parts(question: QuestionData, lines: ArgumentLine[], written: string): string[] {
  const { gate, is_form, sign_in, shown, media, recipient = "the model" } = question;
  const tool = safeLine(question.tool, 80);
  if (sign_in !== undefined) return ["", tool, " you to sign in. Open its page?"];
  if (is_form) return ["", tool, " you for an answer."];
  if (gate === "result") {
    const images = media ? ` and ${plural(media.length, "image")}` : "";
    const end = ` to ${safeLine(recipient, 80)} (${plural(shown.length, "character")}${images})?`;
    return ["Send the result of ", `${tool}(${safeLine(shortArguments(written, 80), 80)})`, end];
  }
  if (!parseObject(shown)) return ["", tool, ` asks: ${safeLine(shown, 300)}`];
  const more = lines.length > 6 ? `, … ${plural(lines.length - 6, "argument")} more` : "";
  const named = lines.slice(0, 6).map(({ name, value }) => `${name}=${value}`);
  return ["Run ", `${tool}(${named.join(", ")}${more})`, "?"];
}
