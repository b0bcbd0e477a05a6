/**
 * Notebook 7 puts an output of more than a hundred lines into a box that scrolls by itself, when it is complete: what is
 * read would move. A turn is shown whole, unless the person has chosen the box.
 */
import type { NotebookPanel } from "./types";

const BOX = "jp-mod-outputsScrolled";

/** Take the box away from the cell of an element whenever it gets one that nobody chose; return what ends that. */
export function keepWhole(node: Node, panel: NotebookPanel | undefined): () => void {
  const cell = panel?.content.widgets.find((one) => one.node.contains(node));
  if (!cell) return () => {};
  const check = (): void => {
    const isChosen = cell.model?.getMetadata?.("scrolled") !== undefined;
    if (!isChosen && cell.node.classList.contains(BOX)) cell.node.classList.remove(BOX);
  };
  const observer = new MutationObserver(check);
  observer.observe(cell.node, { attributeFilter: ["class"] });
  check();
  return () => observer.disconnect();
}
