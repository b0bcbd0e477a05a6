/** The cells of a notebook that define names: found, run one after the other, and what is missing after that. */
import { outputsOf } from "../notebook/notebookModel";
import { singleLine } from "../text/format";
import { isCommandCell } from "./chatSyntax";
import { runCellToEnd } from "./repeat";
import type { CellWidget, Kernel, NotebookPanel, SharedModules } from "./types";

const MAX_ERROR = 200;
const UNDEFINED = /^name '([\p{L}_][\p{L}\p{N}_]{0,99})' is not defined/u;
const RESULT = /_\d+_result$/;

/** A cell that failed: its number, its error, and the name that it lacked, if it was that. */
export interface FailedCell {
  number: string;
  error: string;
  lacked: string;
}

/** What came of running the cells: those that failed, and the names that the notebook still lacks. */
export interface RunOutcome {
  failed: FailedCell[];
  missing: string[];
}

/** Return the cells that define one of these names, in their order. */
export function findDefiningCells(panel: NotebookPanel | undefined, names: readonly string[]): CellWidget[] {
  const content = panel?.content;
  return (content?.widgets ?? []).filter((_, at) => {
    const source = content?.model?.sharedModel.getCell(at).getSource() ?? "";
    return !isCommandCell(source) && names.some((name) => defines(source, name));
  });
}

/** Run the cells that define these names, each once, in their order; one that fails does not hold up the others. */
export async function runDefiningCells(
  shared: SharedModules,
  panel: NotebookPanel,
  names: readonly string[],
  onCell: (number: number, count: number) => void,
): Promise<RunOutcome> {
  const failed: FailedCell[] = [];
  const cells = findDefiningCells(panel, names);
  for (const [at, widget] of cells.entries()) {
    onCell(at + 1, cells.length);
    if (!(await runCellToEnd(shared, panel, widget))) failed.push(failureOf(panel, widget));
  }
  return { failed, missing: await findMissing(panel.sessionContext.session?.kernel, names) };
}

/** Return the sentences about what failed and is missing, and what a person does then; the first cells that failed. */
export function describeOutcome({ failed, missing }: RunOutcome, limit = 3): string[] {
  const texts = failed.slice(0, limit).map(({ number, error, lacked }) => {
    return `Cell [${number}] failed: ${error}. ${stepFor(lacked)}`;
  });
  if (failed.length > limit) texts.push(`${failed.length - limit} more failed.`);
  if (missing.length) texts.push(`Still missing: ${missing.join(", ")}.`);
  return texts;
}

function stepFor(lacked: string): string {
  if (RESULT.test(lacked)) return `\`%chat bind ${lacked}\` in a new cell says what is left of that result.`;
  return lacked ? `Run the cell that defines \`${lacked}\` first.` : "Correct that cell.";
}

function failureOf({ content }: NotebookPanel, widget: CellWidget): FailedCell {
  const at = content.widgets.indexOf(widget);
  const cell = at < 0 ? undefined : content.model?.sharedModel.getCell(at);
  const error = cell && outputsOf(cell).find(({ output_type }) => output_type === "error");
  const number = String(cell?.execution_count ?? " ");
  if (!error) return { number, error: "it did not run to its end", lacked: "" };
  const [, lacked = ""] = UNDEFINED.exec(error.evalue ?? "") ?? [];
  return { number, error: singleLine(`${error.ename}: ${error.evalue}`, MAX_ERROR), lacked };
}

/** Return the names that a kernel does not know; all where it does not answer. */
async function findMissing(kernel: Kernel | null | undefined, names: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names) {
    try {
      const asked = { code: name, cursor_pos: name.length, detail_level: 0 } as const;
      if (!(await kernel?.requestInspect(asked))?.content.found) missing.push(name);
    } catch {
      missing.push(name); // the kernel has ended
    }
  }
  return missing;
}

/** Whether a cell defines a name at its top level: a function, a class, or what is assigned. */
function defines(source: string, name: string): boolean {
  return new RegExp(
    `^(?:(?:async\\s+)?def\\s+${name}\\b|class\\s+${name}\\b|${name}\\s*(?::[^=\\n]+)?=(?!=))`,
    "m",
  ).test(source);
}
