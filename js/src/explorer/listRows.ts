/** Which rows the explorer's list shows: folding, filters, versions, and finding a turn among them. */
import type { Index, Row, Version } from "./protocol";

/** A listed row: its position in the index, and the number of rows that its folded branch hides. */
export interface VisibleRow {
  at: number;
  row: Row;
  hiddenRows: number;
}

/** The filter of rows: words, a status, a tool. */
export interface Filter {
  text: string;
  status: string;
  tool: string;
}

/** Return the listed rows. While a filter is set, no branch is folded. */
export function visibleRows(
  index: Index,
  folded: ReadonlySet<string>,
  filter: Filter,
  found: Found,
): VisibleRow[] {
  const { rows } = index;
  if (isFiltered(filter)) {
    return rows
      .map((row, at) => ({ at, row, hiddenRows: 0 }))
      .filter(({ row }) => row.versions.some((one) => matchesFilter(one, filter, found)));
  }
  const listed: VisibleRow[] = [];
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as Row;
    const end = row.branches && folded.has(row.node_id) ? findBranchEnd(rows, at) : at + 1;
    listed.push({ at, row, hiddenRows: end - at - 1 });
    at = end;
  }
  return listed;
}

/** Whether a filter is set. */
export function isFiltered(filter: Filter): boolean {
  return filter.text.trim() !== "" || filter.status !== "" || filter.tool !== "";
}

/** The words of a search, the longest first. */
export function searchWords({ text }: Pick<Filter, "text">): string[] {
  const words = new Set(text.slice(0, 200).toLowerCase().split(/\s+/).filter(Boolean));
  return [...words].sort((one, other) => other.length - one.length);
}

/** What was found by the kernel: the text that was searched, and the turns with an excerpt of each. */
export type Found = { text: string; turns: ReadonlyMap<string, string> } | null;

/** What decides which version of a row is shown. */
export interface RowState {
  /** The turn that is open. */
  open: string;
  filter: Filter;
  found: Found;
  /** Versions that the person turned to, by their rows. */
  selectedVersions: ReadonlyMap<string, number>;
}

/** The version that a row shows: the open one, the selected one, a match of the filter, or the active one. */
export function shownVersion(row: Row, { open, filter, found, selectedVersions }: RowState): number {
  const selected = selectedVersions.get(row.node_id) ?? -1;
  const fits = (at: number): boolean => {
    const version = row.versions[at];
    return Boolean(version && (!isFiltered(filter) || matchesFilter(version, filter, found)));
  };
  const isOpen = (version: Version): boolean => version.turn_id === open;
  const opened = row.versions.findIndex(isOpen);
  if (opened >= 0 && (opened === selected || fits(opened))) return opened;
  if (fits(selected)) return selected;
  const match = isFiltered(filter) ? row.versions.findIndex((_, at) => fits(at)) : -1;
  return match >= 0 ? match : Math.min(row.current, row.versions.length - 1);
}

/** Return the position of the open turn among the listed rows; -1 if the filter excludes it. */
export function openRow(rows: readonly VisibleRow[], state: RowState): number {
  return rows.findIndex(({ row }) => row.versions[shownVersion(row, state)]?.turn_id === state.open);
}

/** The number of a turn in `%chat history`, by its row: the rows of the active line are counted. */
export function turnNumbers(index: Index): ReadonlyMap<number, number> {
  const numbers = new Map<number, number>();
  index.rows.forEach((row, at) => {
    if (row.line) numbers.set(at, (index.line_before ?? 0) + numbers.size + 1);
  });
  return numbers;
}

/** Whether a version matches the filter; until the kernel has searched, by the texts of its row. */
export function matchesFilter(version: Version, { text, status, tool }: Filter, found: Found): boolean {
  if (status && version.status !== status) return false;
  if (tool && !version.tools.includes(tool)) return false;
  const words = searchWords({ text });
  if (words.length === 0) return true;
  if (found?.text === text) return found.turns.has(version.turn_id);
  const searchable = [version.said, version.model, version.turn_id, ...version.tools]
    .join("\n")
    .toLowerCase();
  return words.every((word) => searchable.includes(word));
}

/** Return the index after the last row of the branch that starts here. */
export function findBranchEnd(rows: Row[], at: number): number {
  const depth = rows[at]?.depth ?? 0;
  let end = at + 1;
  for (; end < rows.length; end++) {
    const row = rows[end] as Row;
    if (row.depth < depth || (row.depth === depth && row.branches)) break;
  }
  return end;
}

/** Return the position of a turn: its row, and its version. */
export function findTurn(index: Index, turn: string): { at: number; version: number } | null {
  for (const [at, row] of index.rows.entries()) {
    const version = row.versions.findIndex((one) => one.turn_id === turn);
    if (version >= 0) return { at, version };
  }
  return null;
}

/** Return the path from the first row to this one, by index. */
export function ancestors(index: Index, at: number): number[] {
  const path: number[] = [];
  for (let row = index.rows[at]; row; row = index.rows[at]) {
    path.push(at);
    at = row.parent;
  }
  return path.reverse();
}

/** Return the active version of a row: it is shown if none was selected. */
export function currentVersion(row: Row): Version | undefined {
  return row.versions[row.current] ?? row.versions.at(-1);
}

/** The maximum number of tools that the filter offers. */
export const MAX_TOOL_CHOICES = 200;

/** The choices of the filter, and how many tools it does not offer. */
interface FilterOptions {
  statuses: string[];
  tools: string[];
  omittedTools: number;
}

/** Return the statuses and tools of an index, for the filter. */
export function filterOptions(index: Index): FilterOptions {
  const statuses = new Set<string>();
  const tools = new Set<string>();
  for (const row of index.rows) {
    for (const version of row.versions) {
      statuses.add(version.status);
      for (const tool of version.tools) tools.add(tool);
    }
  }
  return {
    statuses: [...statuses].sort(),
    tools: [...tools].sort().slice(0, MAX_TOOL_CHOICES),
    omittedTools: Math.max(0, tools.size - MAX_TOOL_CHOICES),
  };
}

/** Return the number of turns with more tools than their row lists: a filter by tool may miss them. */
export function countTurnsWithOmittedTools(index: Index): number {
  return index.rows.flatMap((row) => row.versions).filter((version) => version.more_tools).length;
}
