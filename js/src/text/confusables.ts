/** Finds letters that look like Latin ones, and escapes them. */
import letters from "./confusables.json";

/**
 * Confusable letters: a Cyrillic letter in a Latin word, and letters shaped like Latin ones.
 *
 * Words of a single script are unchanged, and so are usual mixtures of scripts. See
 * https://www.unicode.org/reports/tr39/#Mixed_Script_Detection. nbtool/blocks/confusables.py does the same with the same
 * letters: it is the source of confusables.json.
 */

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const LATIN = /\p{Script=Latin}/u;
const CYRILLIC = /\p{Script=Cyrillic}/u;

/** Letters that do not belong in a Latin word; of Greek, only those that look identical. */
const FOREIGN_LETTERS = new RegExp(
  `[${letters.foreignScripts.map((script) => `\\p{Script=${script}}`).join("")}${letters.greek}]`,
  "gu",
);

/** A word of nothing but Cyrillic letters that look like Latin ones. */
const CYRILLIC_TWINS = new RegExp(`^[${letters.cyrillicTwins}]+$`, "u");

/** Latin letters and digits in another width or style. */
const STYLED_LETTERS = new RegExp(`[${letters.styled}]`, "gu");

/** The range of a character in a text: its first index, and the one after its last. */
export type TextRange = readonly [from: number, to: number];

/** Return the ranges of confusable letters, in order. */
export function findConfusables(text: string): Generator<TextRange> {
  return mergeRanges(findMatches(text, STYLED_LETTERS), findForeignLetters(text));
}

function* findForeignLetters(text: string): Generator<TextRange> {
  if (text.search(FOREIGN_LETTERS) < 0) return;
  const isLatin = LATIN.test(text);
  const areTwinsForeign = isLatin && !hasCyrillicWord(text);
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if ((isLatin && LATIN.test(word)) || (areTwinsForeign && CYRILLIC_TWINS.test(word)))
      yield* findMatches(word, FOREIGN_LETTERS, index);
  }
}

/** Whether a text has a word that is plausible Cyrillic. */
function hasCyrillicWord(text: string): boolean {
  for (const [word] of text.matchAll(WORD))
    if (CYRILLIC.test(word) && !LATIN.test(word) && !CYRILLIC_TWINS.test(word)) return true;
  return false;
}

/** Return the ranges of an expression's matches; `start` is the offset of the text in a longer one. */
export function* findMatches(text: string, expression: RegExp, start = 0): Generator<TextRange> {
  for (const { 0: found, index } of text.matchAll(expression))
    yield [start + index, start + index + found.length];
}

/** Merge two ordered sequences of ranges. */
export function* mergeRanges(one: Generator<TextRange>, other: Generator<TextRange>): Generator<TextRange> {
  let [a, b] = [one.next(), other.next()];
  while (!a.done && !b.done) {
    if (a.value[0] <= b.value[0]) {
      yield a.value;
      a = one.next();
    } else {
      yield b.value;
      b = other.next();
    }
  }
  if (!a.done) yield a.value;
  if (!b.done) yield b.value;
  yield* one;
  yield* other;
}

/** Replace each confusable letter by its escape. */
export function escapeConfusables(text: string): string {
  let out = "";
  let at = 0;
  for (const [from, to] of findConfusables(text)) {
    out += `${text.slice(at, from)}\\u{${hexCode(text.slice(from, to))}}`;
    at = to;
  }
  return out + text.slice(at);
}

/** Return the code point of a character as in an escape. */
export function hexCode(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
}
