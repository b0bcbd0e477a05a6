import type { ComponentChildren } from "preact";
import { withoutStacks } from "../../combining";
import { codeOf, lookalikes } from "../../lookalike";

/**
 * What does not look like what it is: ignorable, format and control characters, separators, and every space but the
 * common one. See https://www.unicode.org/reports/tr36/#visual_spoofing
 */
const ODD = /(?![\n\t ])[\p{DI}\p{Cc}\p{Cf}\p{Z}\u2800]/gu;

/** A stretch of text and how it is shown. */
export interface Stretch {
  raw: string;
  shown: string;
}

/** Cut a text where odd characters stand, and letters that look like others; each of those is shown as its escape. */
export function stretches(text: string): Stretch[] {
  const cut: Stretch[] = [];
  let at = 0;
  for (const [from, to] of oddPlaces(text)) {
    if (from > at) cut.push(plain(text.slice(at, from)));
    const raw = text.slice(from, to);
    cut.push({ raw, shown: `\\u{${codeOf(raw)}}` });
    at = to;
  }
  if (at < text.length) cut.push(plain(text.slice(at)));
  return cut;
}

/** A text in which odd characters can be seen, each as its escape with a mark around it. */
export function marked(text: string): ComponentChildren {
  return stretches(text).map(({ raw, shown }) =>
    raw === shown ? withoutStacks(shown) : <mark class="nb-odd">{shown}</mark>,
  );
}

/** How many odd characters a text holds. */
export function oddIn(text: string): number {
  return oddPlaces(text).length;
}

function oddPlaces(text: string): [from: number, to: number][] {
  const odd = [...text.matchAll(ODD)].map(({ 0: found, index }): [number, number] => [
    index,
    index + found.length,
  ]);
  return [...odd, ...lookalikes(text)].sort(([one], [other]) => one - other);
}

function plain(text: string): Stretch {
  return { raw: text, shown: text };
}
