/** A turn that is sent again by one click: its own cell runs, as Ctrl+Enter in it does, and makes a new version. */
import type { CellRunner } from "../kernel/pageServices";
import { outputsOf } from "../notebook/notebookModel";
import { type Head, VERSION } from "../protocol";
import { cellIndex, findPanel } from "./actions";
import { isChatCell } from "./chatSyntax";
import { requestFromKernel } from "./kernelRequest";
import type { CellWidget, NotebookPanel, NotebookTracker, SharedCell, SharedModules } from "./types";

/** A `%%chat` cell, in the parts that a click may change: what stands above the prompt, and the prompt. */
export interface ChatCell {
  panel: NotebookPanel;
  widget: CellWidget;
  cell: SharedCell;
  above: string;
  prompt: string;
}

/** Return the `%%chat` cell of a saved turn; undefined where it is below any other cell, which no click runs. */
export function chatCellOf(node: Node, panel: NotebookPanel | undefined): ChatCell | undefined {
  const at = cellIndex(node, panel);
  const widget = panel?.content.widgets[at];
  const cell = at < 0 ? undefined : panel?.content.model?.sharedModel.getCell(at);
  const source = cell?.getSource() ?? "";
  const [, above = "", prompt = ""] = /^((?:\s*#[^\n]*\n|\s*\n)*%%\w+[^\n]*\n)([\s\S]*)$/.exec(source) ?? [];
  const line = above.trimEnd().split("\n").at(-1) ?? "";
  if (!panel || !widget || !cell || !isChatCell(line) || !prompt.trim()) return undefined;
  return { panel, widget, cell, above, prompt };
}

/** Whether the kernel says that running the cell of a turn again repeats that turn; and what else it says. */
export async function canRepeat(
  { panel, cell, prompt }: ChatCell,
  { chat = "main", turn_id: turn }: Head,
): Promise<{ inPlace: boolean; text: string }> {
  const request = { v: VERSION, kind: "repeat", chat, turn, cell: cell.id ?? "", typed: prompt } as const;
  const answer = await requestFromKernel(panel.sessionContext.session?.kernel, request);
  return { inPlace: answer?.ok === true && answer.in_place === true, text: answer?.text ?? "" };
}

/** Run a cell of a notebook as a person does with Ctrl+Enter; return whether the page could. */
export function runCell(shared: SharedModules, panel: NotebookPanel, widget: CellWidget): boolean {
  if (!shared.NotebookActions?.runCells) return false;
  void runCellToEnd(shared, panel, widget);
  return true;
}

/** Run a cell of a notebook, and return at its end whether it ran without an error. */
export async function runCellToEnd(
  { NotebookActions }: SharedModules,
  { content, sessionContext }: NotebookPanel,
  widget: CellWidget,
): Promise<boolean> {
  content.activeCellIndex = content.widgets.indexOf(widget);
  content.mode = "command";
  try {
    return (await NotebookActions?.runCells?.(content, [widget], sessionContext)) ?? false;
  } catch {
    return false; // the kernel ended, or the cell was removed
  }
}

/** Make what runs cells of a page's notebooks for a click. */
export function makeCellRunner(shared: SharedModules, tracker: NotebookTracker): CellRunner {
  const find = (el: Node, id: string): { panel: NotebookPanel | undefined; at: number } => {
    const panel = findPanel(el, tracker);
    return { panel, at: panel?.content.model?.sharedModel.cells?.findIndex((cell) => cell.id === id) ?? -1 };
  };
  const runAt = ({ panel, at }: { panel: NotebookPanel | undefined; at: number }): boolean => {
    const widget = panel?.content.widgets[at];
    return panel && widget ? runCell(shared, panel, widget) : false;
  };
  return {
    runCell: (el, id) => runAt(find(el, id)),
    findFailed(el, number) {
      const cells = findPanel(el, tracker)?.content.model?.sharedModel.cells ?? [];
      const cell = cells.find(
        (one) =>
          one.execution_count === number && outputsOf(one).some(({ output_type }) => output_type === "error"),
      );
      return cell?.id && cell.getSource ? { id: cell.id, source: cell.getSource() } : undefined;
    },
    replaceAndRun(el, { id, source: expected }, source) {
      const found = find(el, id);
      const cell = found.panel?.content.model?.sharedModel.getCell(found.at);
      if (found.at < 0 || !cell || cell.getSource() !== expected || !shared.NotebookActions?.runCells)
        return false;
      cell.setSource(source);
      return runAt(found);
    },
  };
}
