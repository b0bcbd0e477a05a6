/** A call's arguments as a person reads them, on one line and in full; as in nbtool/blocks/argument_lines.py. */
import { escapeInvisible, parseObject, singleLine } from "./format";

/** A string of JSON that is nothing but a reference; as in nbtool/blocks/reference_notation.py. */
const REFERENCE =
  /(?<!\\)"\$VAR_REF\{\{([\p{L}\p{N}_\-/.]{1,128}(?:\[(?:-?\d+|'[\p{L}\p{N}_ .-]{1,64}')\])*(?::\d+){0,2})\}\}"/gu;

/** JSON with its references as people write them: `df` for `"$VAR_REF{{df}}"`. */
export function nameReferences(json: string): string {
  return json.replace(REFERENCE, "$1");
}

const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Levels of JSON that are indented; of what lies deeper, the spaces would be most of the text. */
export const INDENT_LIMIT = 100;

/** The tokens of JSON, each with the number of brackets around it. */
function leveledTokens(text: string): [token: string, level: number][] {
  let level = 0;
  return (text.match(JSON_TOKENS) ?? []).map((token) => {
    const before = level;
    if (token === "{" || token === "[") level++;
    else if (token === "}" || token === "]") level--;
    return [token, Math.min(before, level)];
  });
}

/** A call's arguments on one line, as Python would write them; its numbers stay as they were written. */
export function shortArguments(text: string, limit = 80): string {
  if (!isObject(text)) return singleLine(text, limit);
  const parts: string[] = [];
  for (const [token, level] of leveledTokens(text)) {
    if (token === ":" && level === 1) parts.push(`${unquoteKey(parts.pop() ?? "")}=`);
    else if (token === ":" || token === ",") parts.push(`${token} `);
    else if (level > 0) parts.push(nameReferences(token));
  }
  return singleLine(parts.join(""), limit);
}

/** Remove the quotes of a key if it is a plain word. */
function unquoteKey(key: string): string {
  return key.replace(/^"([\p{L}\p{N}_-]+)"$/u, "$1");
}

/** A call's arguments in full with nothing invisible in them; JSON is indented, and no character of it changed. */
export function longArguments(text: string): string {
  return escapeInvisible(isObject(text) ? indentJson(text) : text);
}

/** Indent JSON by its tokens alone, so that a long number or a doubled key stays what it is; where it is deep, it stays too. */
export function indentJson(text: string): string {
  const tokens = leveledTokens(text);
  let before = "";
  return isDeep(tokens)
    ? text
    : tokens
        .map(([token, level]) => {
          const isOpened = before === "{" || before === "[";
          const isClosed = token === "}" || token === "]";
          const isNewLine = isOpened !== isClosed || before === ",";
          before = token;
          return (isNewLine ? `\n${"  ".repeat(level)}` : "") + (token === ":" ? ": " : token);
        })
        .join("");
}

function isDeep(tokens: [string, number][]): boolean {
  return tokens.some(([, level]) => level > INDENT_LIMIT);
}

/** Whether arguments are a JSON object that is not too deep; nothing at all is one. */
function isObject(text: string): boolean {
  return !isDeep(leveledTokens(text)) && parseObject(text) !== null;
}
