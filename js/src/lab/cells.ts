import type { Deed, Head } from "../protocol";
import type { NotebookPanel, NotebookTracker } from "./jupyterlab";

/** What can be done with a saved turn: the cell that does it. It is put below the turn's own, and never run. */
const CELLS: Partial<Record<Deed, (of: string, turn: string) => string>> = {
  rerun: (of, turn) => `%%chat${of} --rerun ${turn}`,
  code: (of, turn) => `%chat${of} code ${turn}`,
  explore: (of) => `%chat${of} explore`,
};

/** The deeds that a saved turn offers where a kernel lives. */
export const DEEDS = Object.keys(CELLS) as Deed[];

/** The notebook that an element stands in. */
export function panelOf(node: Node, tracker: NotebookTracker | null): NotebookPanel | undefined {
  return tracker?.find((panel) => panel.node.contains(node));
}

/** Whether a notebook has a kernel that can be spoken with. */
export function isAlive(panel: NotebookPanel | undefined): boolean {
  const kernel = panel?.sessionContext.session?.kernel;
  return kernel?.connectionStatus === "connected" && !["dead", "terminating"].includes(kernel.status);
}

/** Put a cell below the one that an element stands in, and select it. */
export function putBelow(node: Node, panel: NotebookPanel | undefined, deed: Deed, head: Head): void {
  const source = CELLS[deed]?.(head.chat ? ` -c ${head.chat}` : "", head.turn_id);
  const content = panel?.content;
  const at = content?.widgets.findIndex((cell) => cell.node.contains(node)) ?? -1;
  if (!content?.model || source === undefined || at < 0) return;
  content.model.sharedModel.insertCell(at + 1, { cell_type: "code", source, metadata: { trusted: true } });
  content.activeCellIndex = at + 1;
  content.mode = "command";
}
