/** The buttons of a saved turn in JupyterLab: which there are, and the cells that they insert. */

import type { InsertedCell } from "../notebook/insertCell";
import { type ActionId, type Document, type Head, VERSION } from "../protocol";
import type { OfflineConnection } from "../saved/offline";
import { ACTIONS, actionsAt, isPossible } from "../views/actions";
import { requestFromKernel } from "./kernelRequest";
import type { CellWidget, IopubMessage, NotebookPanel, NotebookTracker } from "./types";

/** What an action applies to, where it is not the whole turn. */
interface ActionDetail {
  version?: number | undefined;
  reference?: string | undefined;
}

/** A variable that a call's result is kept in: one word of a command line, also in a forged turn. */
const VARIABLE = /^[\p{L}_][\p{L}\p{N}_]{0,99}$/u;

/** The beginning of a turn's id, which commands take for the whole; any other text is unchanged. As `short_id` of nbtool/messages.py. */
function shortId(id: string): string {
  return id.replace(/^([a-z]+_[0-9a-f]{8})[0-9a-f]{12}$/, "$1");
}

/** Return the actions of a saved turn with a running kernel. */
export function actionsFor(document: Document): ActionId[] {
  const actions = actionsAt("saved", "saved_versions", "saved_call");
  return actions.filter((action) => isPossible(action, document));
}

/** Return the notebook that contains an element. */
export function findPanel(node: Node, tracker: NotebookTracker | null): NotebookPanel | undefined {
  return tracker?.find((panel) => panel.node.contains(node));
}

/** Whether a notebook has a connected kernel. */
export function isAlive(panel: NotebookPanel | undefined): boolean {
  const kernel = panel?.sessionContext.session?.kernel;
  return kernel?.connectionStatus === "connected" && !["dead", "terminating"].includes(kernel.status);
}

/** Insert the cell of an action below the one that contains an element, and show the outcome. */
export async function insertActionCell(
  node: Node,
  panel: NotebookPanel | undefined,
  action: ActionId,
  head: Head,
  detail: ActionDetail,
  showOutcome: OfflineConnection["showOutcome"],
): Promise<void> {
  const source = cellFor(action, head, cellSource(node, panel), detail);
  if (!source) {
    showOutcome({ state: "refused", text: "the saved turn does not say what its cell needs." });
    return;
  }
  const inserted = insertCell(node, panel, source);
  showOutcome(inserted);
  const below = panel?.content.model?.sharedModel.getCell(panel.content.activeCellIndex);
  if (inserted.state !== "below" || !panel || !below) return;
  if (await isMagicMissing(panel, source)) {
    selectLoadCell(node, panel);
    const onLoaded = (callback: () => void) => onMagic(panel, source, callback);
    showOutcome({ ...inserted, state: "belowWithLoad", onLoaded }, inserted);
  } else if (action === "edit" || action === "rerun") {
    const { chat = "main", turn_id: turn } = head;
    const request = { v: VERSION, kind: "models", chat, turn, action } as const;
    const answer = await requestFromKernel(panel.sessionContext?.session?.kernel, request);
    const setFirstLine = (line: string): void =>
      below.setSource(below.getSource().replace(/^.*/, () => line));
    if (answer?.models) showOutcome({ ...inserted, models: answer.models, setFirstLine }, inserted);
  }
}

/** Return the source of the cell that contains an element; empty if there is none. */
export function cellSource(node: Node, panel: NotebookPanel | undefined): string {
  const at = cellIndex(node, panel);
  return (at < 0 ? undefined : panel?.content.model?.sharedModel.getCell(at).getSource()) ?? "";
}

/** Insert a cell with a text below the one that contains an element, and select it; it does not run. */
export function insertCell(node: Node, panel: NotebookPanel | undefined, source: string): InsertedCell {
  const content = panel?.content;
  const at = cellIndex(node, panel);
  if (!content?.model || at < 0) return { state: "here", text: source };
  // A cell that loads nbtool and was inserted before stays above the cells that need it.
  const index = isLoadCell(content, at + 1) ? at + 2 : at + 1;
  const notebook = content.model.sharedModel;
  notebook.insertCell(index, { cell_type: "code", source, metadata: { trusted: true } });
  content.activeCellIndex = index; // it also scrolls there
  content.mode = "command";
  return { state: "below", text: source, placed: { notebook, cell: notebook.cells?.[index] } };
}

/** Select a cell by its id, and scroll to it; return whether the notebook has it. */
export function showCell(panel: NotebookPanel | undefined, id: string): boolean {
  const content = panel?.content;
  const at = content?.model?.sharedModel.cells?.findIndex((cell) => cell.id === id) ?? -1;
  if (!content || at < 0) return false;
  content.activeCellIndex = at; // it also scrolls there
  content.mode = "command";
  return true;
}

/** Return the notebook that has an element in one of its cells, attached to the page or not. */
export function findPanelOfCell(node: Node, tracker: NotebookTracker | null): NotebookPanel | undefined {
  return tracker?.find((panel) => cellIndex(node, panel) >= 0);
}

/** Show a cell that contains an element, with its output: scroll to it, and expand the headings that hide it. */
export async function revealCell(node: Node, panel: NotebookPanel | undefined): Promise<void> {
  const at = cellIndex(node, panel);
  const cells = panel?.content.widgets ?? [];
  const cell = cells[at];
  expandHeadings(cells, at);
  if (cell?.outputHidden) cell.outputHidden = false;
  await panel?.content.scrollToItem?.(at);
}

/** Expand the headings above a cell that hide it, the nearest first. */
function expandHeadings(cells: readonly CellWidget[], at: number): void {
  for (let above = at - 1; above >= 0 && cells[at]?.isHidden; above--) {
    const heading = cells[above];
    if (heading?.headingCollapsed) heading.headingCollapsed = false;
  }
}

/** Return the cell that contains an element. */
export function findCell(node: Node, panel: NotebookPanel | undefined): CellWidget | undefined {
  return panel?.content.widgets[cellIndex(node, panel)];
}

/** Return which cell contains an element; -1 where none does. */
export function cellIndex(node: Node, panel: NotebookPanel | undefined): number {
  const contains = (cell: CellWidget): boolean =>
    cell.node.contains(node) || Boolean(cell.outputArea?.node.contains(node));
  return panel?.content.widgets.findIndex(contains) ?? -1;
}

const LOAD_EXTENSION = "%load_ext nbtool";

/** Whether a cell only loads nbtool. */
function isLoadCell({ model, widgets }: NotebookPanel["content"], at: number): boolean {
  if (!model || at < 0 || at >= widgets.length) return false;
  return model.sharedModel.getCell(at).getSource().trim() === LOAD_EXTENSION;
}

/** Whether the kernel says that it does not know the magic of a cell. */
async function isMagicMissing(panel: NotebookPanel, source: string): Promise<boolean> {
  const kernel = panel.sessionContext?.session?.kernel;
  const magic = /^%%?(\w+)/.exec(source)?.[1] ?? "";
  if (!kernel || !magic) return false;
  const { content } = await kernel.requestInspect({ code: magic, cursor_pos: magic.length, detail_level: 0 });
  return content.status === "ok" && content.found === false;
}

/** Call back when the kernel knows the magic of a cell, which is looked at after each cell that has run; return what stops that. */
function onMagic(panel: NotebookPanel, source: string, callback: () => void): () => void {
  const messages = panel.sessionContext.session?.kernel?.iopubMessage;
  const onMessage = async (_: unknown, { header, parent_header, content }: IopubMessage): Promise<void> => {
    const isEnd = header.msg_type === "status" && content.execution_state === "idle";
    if (!isEnd || parent_header.msg_type !== "execute_request") return;
    if (await isMagicMissing(panel, source)) return;
    messages?.disconnect(onMessage);
    callback();
  };
  messages?.connect(onMessage);
  return () => messages?.disconnect(onMessage);
}

/** Select the cell that loads nbtool, which has to run before the one inserted below it; it is inserted if there is none. */
function selectLoadCell(node: Node, panel: NotebookPanel): void {
  const { content } = panel;
  const below = cellIndex(node, panel) + 1;
  if (!content.model || below === 0) return;
  const cell = { cell_type: "code" as const, source: LOAD_EXTENSION, metadata: { trusted: true } };
  if (!isLoadCell(content, below)) content.model.sharedModel.insertCell(below, cell);
  content.activeCellIndex = below;
}

/** A cell of nbtool's own magic, by either of its names, and the prompt below its line. */
const CHAT_CELL = /^%%(chat|nbchat)(?:[ \t][^\n]*)?\n([\s\S]*)$/;

/**
 * Return the source of the cell, only with nbtool's own magic: a saved turn may be forged, and be below any cell.
 *
 * A magic name set in ipython_config.py is not known here, so `chat` is used instead.
 */
function cellFor(
  action: ActionId,
  head: Head,
  prompted: string,
  { version = 0, reference = "" }: ActionDetail,
): string | undefined {
  const [, magic = "chat", prompt] = CHAT_CELL.exec(prompted) ?? [];
  const turn = head.turns?.[version - 1];
  const words: Record<string, string | undefined> = {
    chat: `${magic}${head.chat ? ` -c ${head.chat}` : ""}`,
    turn: shortId(head.turn_id),
    prompt,
    other: turn && shortId(turn),
    reference: VARIABLE.test(reference) ? reference : undefined,
  };
  return fill(ACTIONS[action].cell ?? "", words);
}

/** Fill in the words of a cell; undefined where it lacks one. */
function fill(cell: string, words: Record<string, string | undefined>): string | undefined {
  const names = [...cell.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  if (!names.every((name) => words[name])) return undefined;
  return cell.replace(/\{(\w+)\}/g, (_, name: string) => words[name] ?? "");
}
