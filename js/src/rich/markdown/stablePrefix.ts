/** The first tokens of a growing text that later text cannot change. */
import type { Token } from "marked";

const COMPLETE = new Set(["heading", "hr", "code", "math", "table"]);
const INTERRUPTING = new Set(["heading", "list", "blockquote"]);

/**
 * How many of the first tokens of a source later text cannot change: those before the last one that begins on a whole
 * line, and that begins a block of its own whatever follows.
 */
export function stablePrefixLength(tokens: Token[], source: string): number {
  let at = totalLength(tokens);
  for (let i = tokens.length - 1; i > 0; i--) {
    const [before, token] = [tokens[i - 1], tokens[i]];
    if (!before || !token) break;
    at -= token.raw.length;
    if (token.type === "space" || source.indexOf("\n", at) < 0) continue; // a token's own raw text may end otherwise
    const isFence = /^(```|~~~)/.test(token.raw);
    const begins = INTERRUPTING.has(token.type) && before.type !== "blockquote";
    const isAfter =
      before.type === "space" || COMPLETE.has(before.type) || /\n[ \t]*\n$/.test(before.raw.slice(-80));
    if (isAfter || isFence || begins) return i;
  }
  return 0;
}

/** How long the texts of these tokens, or items, are together. */
export function totalLength(tokens: { raw: string }[]): number {
  return tokens.reduce((sum, { raw }) => sum + raw.length, 0);
}
