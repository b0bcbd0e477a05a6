/** Closes what is still open at the end of a growing text: marks, fences, tables. */

/** A line that may yet become anything: a list, a heading, a rule, a fence, a table. */
const UNDECIDED =
  /^[ \t]*(?:[-+*=_#>|`~:]{1,3}|(?:```|~~~).*|#{4,6}|\d{1,9}[.)]?|[-+*>] \[?[ xX]?\]?|\|?[ :|-]*[:-][ :|-]*)[ \t]*$/;
const TABLE_HEAD = /^ {0,3}\|.*[^\s|]/;
const MARKER = /^[ \t]*(?:[-+*>]|\d{1,9}[.)]|#{1,6})(?=\s)|^[ \t]*\|/;
const MARKS = /\\[\s\S]|(`+)|(\*+|_+|~~)|\]\(/g;
const FENCE = /^[ \t>]*(?:(?:[-+*]|\d+[.)])[ \t]+)*(?:```|~~~)/gm;

/** Characters of a last line that may yet become anything; a longer one is what it is. */
const UNDECIDED_LIMIT = 200;

/** Words that may become a link, and marks of which more may follow. */
const PENDING = /!?\[[^\][\n]{0,120}(?:\](?:\[[^\]\n]{0,40})?)?$|[*_~\\!]+$/;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Close what the last block of a growing text has opened, for showing it before it is whole. What is not yet known to
 * be prose or mark is buffered, so that nothing is shown that the next chunk would remove.
 */
export function closeOpenMarks(block: string): string {
  const lines = block.split("\n");
  const end = lines.at(-1) ?? "";
  if (end.length <= UNDECIDED_LIMIT && UNDECIDED.test(end)) lines.pop();
  if ((block.match(FENCE)?.length ?? 0) % 2 || /^(?: {4}|\t)/.test(block)) return lines.join("\n");
  const text = closeInline(lines.join("\n"));
  const [last = "", before = ""] = text.trimEnd().split("\n").reverse();
  const isHead = TABLE_HEAD.test(last) && !before.includes("|");
  return isHead ? `${text.trimEnd()}\n${"|-".repeat(columns(last))}|` : text;
}

function columns(head: string): number {
  const inside = head.trim().replace(/^\||\|$/g, "");
  return inside.replace(/\\\|/g, "").split("|").length;
}

/** Close the emphasis, code and link that the last paragraph, item or cell has opened. */
function closeInline(text: string): string {
  const from = inlineStart(text);
  const line = text.slice(from).replace(PENDING, "");
  const open: string[] = [];
  let code = "";
  let codeAt = -1;
  let link = -1;
  for (const match of line.matchAll(MARKS)) {
    const [mark, ticks, emphasis] = match;
    if (ticks) {
      codeAt = match.index;
      code = code ? (code === ticks ? "" : code) : ticks;
    } else if (code) continue;
    else if (emphasis)
      updateOpenMarks(open, emphasis, line[match.index - 1] ?? "", line[match.index + mark.length] ?? "");
    else if (mark === "](" && line.indexOf(")", match.index) < 0) link = match.index;
  }
  if (code && codeAt + code.length === line.length)
    return text.slice(0, from) + line.slice(0, codeAt) + open.reverse().join("");
  const output = link < 0 || code ? line : dropOpenLink(line, link);
  return text.slice(0, from) + (code ? output : output.trimEnd()) + code + open.reverse().join("");
}

/** Where the paragraph, item or row begins that the text ends with. */
function inlineStart(text: string): number {
  for (let end = text.length; end > 0; ) {
    const begin = text.lastIndexOf("\n", end - 1) + 1;
    const line = text.slice(begin, end);
    if (!line.trim()) return end;
    const marker = MARKER.exec(line);
    if (marker) return begin + marker[0].length;
    end = begin - 1;
  }
  return 0;
}

/** Record that a run of marks closes or opens something. */
function updateOpenMarks(open: string[], run: string, before: string, after: string): void {
  const [mark = ""] = run;
  let left = run.length;
  while (before.trim() && left > 0 && open.at(-1)?.startsWith(mark)) left -= open.pop()?.length ?? 0;
  if (left <= 0 || !after.trim() || (WORD.test(before) && left === run.length)) return;
  if (left > 1) open.push(mark + mark);
  if (left % 2) open.push(mark);
}

/** The words of a link whose address is still being written. */
function dropOpenLink(line: string, end: number): string {
  const begin = line.lastIndexOf("[", end - 1);
  return begin < 0 ? line : line.slice(0, begin).replace(/!$/, "") + line.slice(begin + 1, end);
}
