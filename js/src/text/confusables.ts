/**
 * Letters that look like others: a Cyrillic letter in a Latin word, and letters in the shape of Latin ones.
 *
 * Words of one script stay as they are, whatever script it is, and so do those that mix scripts as people do. See
 * https://www.unicode.org/reports/tr39/#Mixed_Script_Detection; nbtool/blocks/confusables.py finds the same.
 */

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const LATIN = /\p{Script=Latin}/u;
const CYRILLIC = /\p{Script=Cyrillic}/u;

/** Letters of other scripts that stand in no Latin word by right; of Greek, those alone that cannot be told apart. */
const FOREIGN_LETTERS =
  /[\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺοϲϳ]/gu;

/** Cyrillic letters that look like Latin ones; a word may be made of nothing else. */
const CYRILLIC_TWINS = /^[аеорсухіјѕԁһѵкАВЕКМНОРСТУХІЈЅԌԚԜ]+$/u;

/** Latin letters in another width or style: \uff21 is no A, and neither is \u{1d400}. */
const STYLED_LETTERS = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/gu;

/** Where a character lies in a text: its first place, and the one after it. */
export type TextRange = readonly [from: number, to: number];

/** Where letters stand that look like others, one by one from the first. */
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

/** Whether a word of a text is Cyrillic beyond doubt. */
function hasCyrillicWord(text: string): boolean {
  for (const [word] of text.matchAll(WORD))
    if (CYRILLIC.test(word) && !LATIN.test(word) && !CYRILLIC_TWINS.test(word)) return true;
  return false;
}

/** Where an expression is found in a text that begins at a place of another one. */
export function* findMatches(text: string, expression: RegExp, start = 0): Generator<TextRange> {
  for (const { 0: found, index } of text.matchAll(expression))
    yield [start + index, start + index + found.length];
}

/** Two rows of places as one, in order. */
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

/** The text with each of these letters as its escape. */
export function escapeConfusables(text: string): string {
  let out = "";
  let at = 0;
  for (const [from, to] of findConfusables(text)) {
    out += `${text.slice(at, from)}\\u{${hexCode(text.slice(from, to))}}`;
    at = to;
  }
  return out + text.slice(at);
}

/** The code of a character, as an escape writes it. */
export function hexCode(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
}
