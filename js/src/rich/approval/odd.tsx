import type { ComponentChildren } from "preact";

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

/** Cut a text where odd characters stand; each of those is shown as its escape. */
export function stretches(text: string): Stretch[] {
  const cut: Stretch[] = [];
  let at = 0;
  for (const found of text.matchAll(ODD)) {
    if (found.index > at) cut.push(plain(text.slice(at, found.index)));
    cut.push({ raw: found[0], shown: `\\u{${code(found[0])}}` });
    at = found.index + found[0].length;
  }
  if (at < text.length) cut.push(plain(text.slice(at)));
  return cut;
}

/** A text in which odd characters can be seen, each as its escape with a mark around it. */
export function marked(text: string): ComponentChildren {
  return stretches(text).map(({ raw, shown }) =>
    raw === shown ? shown : <mark class="nb-odd">{shown}</mark>,
  );
}

/** How many odd characters a text holds. */
export function oddIn(text: string): number {
  return text.match(ODD)?.length ?? 0;
}

function plain(text: string): Stretch {
  return { raw: text, shown: text };
}

function code(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
}
