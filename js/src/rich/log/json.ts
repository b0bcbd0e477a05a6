/** Parses JSON without losing digits of its numbers. */
import { nameReferences } from "../../text/argumentLines";

/** A number or the name of a reference as text: numbers in JavaScript lose precision for large integers. */
export interface RawNumber {
  source: string;
}

/** JSON as it is shown: its numbers stay as they were written. */
export type Json = null | boolean | string | RawNumber | Json[] | { [name: string]: Json };

/** Whether a value is a number as text. */
export function isRawNumber(value: Json): value is RawNumber {
  return typeof value === "object" && value !== null && value instanceof SourceNumber;
}

class SourceNumber implements RawNumber {
  constructor(readonly source: string) {}
}

const STRINGS_AND_NUMBERS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Maximum nesting of JSON: deeper values could overflow the stack while rendering. */
export const DEPTH_LIMIT = 100;

const BRACKETS = /"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g;

/** Read JSON; undefined where it is none, and where it is too deep. With `isArguments`, references are their names. */
export function parseLosslessJson(text: string, isArguments = false): Json | undefined {
  const numbers: string[] = [];
  if (depthOf(text) > DEPTH_LIMIT) return undefined;
  try {
    JSON.parse(text);
    const encoded = text.replace(STRINGS_AND_NUMBERS, (found, at: number) => {
      const isKey = /^\s*:/.test(text.slice(at + found.length, at + found.length + 99));
      const source = isArguments && !isKey ? nameReferences(found) : found;
      return source.startsWith('"') ? found : `{"\\u0000":${numbers.push(source) - 1}}`;
    });
    return JSON.parse(encoded, (_, value) =>
      typeof value === "object" && value !== null && "\0" in value
        ? new SourceNumber(numbers[value["\0"]] ?? "")
        : value,
    );
  } catch {
    return undefined;
  }
}

/** How deep the brackets of a JSON text lie. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  for (const [token] of text.matchAll(BRACKETS)) {
    if (token === "{" || token === "[") deepest = Math.max(deepest, ++depth);
    else if (token.length === 1) depth--;
  }
  return deepest;
}
