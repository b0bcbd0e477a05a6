import type { Deed, Head } from "../protocol";
import type { NotebookPanel, NotebookTracker } from "./types";

/** Of what a cell is written: the words that it begins with, the turn, what stood in the turn's own cell, a version. */
interface Of {
  cell: string;
  line: string;
  head: Head;
  prompt: string | undefined;
  version: number | undefined;
}

/** What can be done with a saved turn: the cell that does it. It is put below the turn's own, and never run. */
const CELLS: Record<Deed, (of: Of) => string | undefined> = {
  rerun: ({ cell, head }) => `${cell} --rerun ${head.turn_id}`,
  edit: ({ cell, head, prompt }) => prompt && `${cell} --edit ${head.turn_id}\n${prompt}`,
  code: ({ line, head }) => `${line} code ${head.turn_id}`,
  explore: ({ line, head }) => `${line} explore ${head.turn_id}`,
  version: ({ line, head, version = 0 }) => {
    const turn = head.turns?.[version - 1];
    return turn && `${line} switch ${turn}`;
  },
};

/** The deeds that a saved turn offers where a kernel lives; the way to other versions only where they are known. */
export function deedsOf(head: Head): Deed[] {
  const deeds = Object.keys(CELLS) as Deed[];
  return deeds.filter((deed) => deed !== "version" || head.turns?.length === head.versions);
}

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
export function putBelow(
  node: Node,
  panel: NotebookPanel | undefined,
  deed: Deed,
  head: Head,
  version?: number,
): void {
  const content = panel?.content;
  const at = content?.widgets.findIndex((cell) => cell.node.contains(node)) ?? -1;
  if (!content?.model || at < 0) return;
  const { sharedModel } = content.model;
  const source = written(deed, head, sharedModel.getCell(at).getSource(), version);
  if (!source) return;
  sharedModel.insertCell(at + 1, { cell_type: "code", source, metadata: { trusted: true } });
  content.activeCellIndex = at + 1;
  content.mode = "command";
  void putLoading(node, panel, source);
}

/** Put the cell that loads nbtool above the one that was put below, where the kernel does not know its magic. */
async function putLoading(node: Node, panel: NotebookPanel | undefined, source: string): Promise<void> {
  const kernel = panel?.sessionContext?.session?.kernel;
  const magic = /^%%?(\w+)/.exec(source)?.[1] ?? "";
  if (!panel || !kernel || !magic) return;
  const { content } = await kernel.requestInspect({ code: magic, cursor_pos: magic.length, detail_level: 0 });
  const at = panel.content.widgets.findIndex((cell) => cell.node.contains(node));
  const model = panel.content.model;
  if (content.status !== "ok" || content.found !== false || at < 0 || !model) return;
  model.sharedModel.insertCell(at + 1, {
    cell_type: "code",
    source: "%load_ext nbtool",
    metadata: { trusted: true },
  });
  panel.content.activeCellIndex = at + 1;
}

/** A cell of nbtool's own magic, by either of its names, and the prompt below its line. */
const OWN_CELL = /^%%(chat|nbchat)(?:[ \t][^\n]*)?\n([\s\S]*)$/;

/**
 * Write the cell, with nbtool's own magic and no other: a saved turn may have been forged, and stand under any cell.
 *
 * A name that somebody gave the magic in ipython_config.py is not known here, so `chat` stands in its place.
 */
function written(deed: Deed, head: Head, own: string, version: number | undefined): string | undefined {
  const [, magic = "chat", prompt] = OWN_CELL.exec(own) ?? [];
  const line = `%${magic}${head.chat ? ` -c ${head.chat}` : ""}`;
  return CELLS[deed]({ cell: `%${line}`, line, head, prompt, version });
}
