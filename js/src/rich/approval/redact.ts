/** Redacting a selection of a result. */
import { hiddenRanges } from "./hiddenCharacters";

/** The replacement of redacted text. */
export const REDACTED = "[redacted]";

/** Where a text lies in another one. */
export interface Span {
  start: number;
  end: number;
}

/** Redact a range of a text, or all occurrences of the same words; return their number. */
export function redact(
  text: string,
  { start, end }: Span,
  isEverywhere: boolean,
): { text: string; count: number } {
  const selected = text.slice(start, end);
  if (!selected) return { text, count: 0 };
  if (!isEverywhere) return { text: text.slice(0, start) + REDACTED + text.slice(end), count: 1 };
  const parts = text.split(selected);
  return { text: parts.join(REDACTED), count: parts.length - 1 };
}

/** What is selected in an element that shows a text with its odd characters marked; null where nothing of it is. */
export function selectionIn(el: HTMLElement, text: string, selection: Selection | null): Span | null {
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (!el.contains(range.startContainer) || !el.contains(range.endContainer)) return null;
  const before = document.createRange();
  before.setStart(el, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const from = before.toString().length;
  return toRawSpan(text, from, from + range.toString().length);
}

/** From places in what is shown to places in the text; half an escape counts as the whole character. */
export function toRawSpan(text: string, from: number, to: number): Span | null {
  if (to <= from) return null;
  let shownAt = 0;
  let rawAt = 0;
  let start = -1;
  let end = -1;
  for (const { raw, shown } of hiddenRanges(text)) {
    const shownEnd = shownAt + shown.length;
    const isPlain = raw === shown;
    if (start < 0 && from < shownEnd) start = rawAt + (isPlain ? from - shownAt : 0);
    if (end < 0 && to <= shownEnd) end = rawAt + (isPlain ? to - shownAt : raw.length);
    shownAt = shownEnd;
    rawAt += raw.length;
  }
  if (start < 0) return null;
  const span = { start, end: end < 0 ? rawAt : end };
  return span.end > span.start ? span : null;
}
