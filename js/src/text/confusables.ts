/**
 * Letters that look like others: a Cyrillic letter in a Latin word, and letters in the shape of Latin ones.
 *
 * Words of one script stay as they are, whatever script it is, and so do those that mix scripts as people do. See
 * https://www.unicode.org/reports/tr39/#Mixed_Script_Detection; nbtool/blocks/confusables.py finds the same.
 */

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
const LATIN = /\p{Script=Latin}/u;

/** Letters of other scripts that stand in no Latin word by right; of Greek, those alone that cannot be told apart. */
const STRANGE =
  /[\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺοϲϳ]/gu;

/** Cyrillic letters that look like Latin ones; a word may be made of nothing else. */
const TWINS = /^[аеорсухіјѕԁһѵкАВЕКМНОРСТУХІЈЅԌԚԜ]+$/u;

/** Latin letters in another width or style: \uff21 is no A, and neither is \u{1d400}. */
const STYLED = /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/gu;

/** Where letters stand that look like others: the first place of each, and the one after it. */
export function lookalikes(text: string): [from: number, to: number][] {
  const found = [...text.matchAll(STYLED)].map(placeOf);
  const words = [...text.matchAll(WORD)];
  const isCyrillic = words.some(
    ([word]) => /\p{Script=Cyrillic}/u.test(word) && !LATIN.test(word) && !TWINS.test(word),
  );
  for (const { 0: word, index } of words) {
    if (LATIN.test(word) || (!isCyrillic && TWINS.test(word) && LATIN.test(text)))
      for (const one of word.matchAll(STRANGE)) found.push(placeOf({ 0: one[0], index: index + one.index }));
  }
  return found.sort(([one], [other]) => one - other);
}

/** The text with each of these letters as its escape. */
export function unmasked(text: string): string {
  let out = "";
  let at = 0;
  for (const [from, to] of lookalikes(text)) {
    out += `${text.slice(at, from)}\\u{${codeOf(text.slice(from, to))}}`;
    at = to;
  }
  return out + text.slice(at);
}

/** The code of a character, as an escape writes it. */
export function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
}

function placeOf({ 0: found, index }: { 0: string; index: number }): [from: number, to: number] {
  return [index, index + found.length];
}
