import type { PlacedCell } from "./insertCell";

/** Call back when a cell has started to run, or is no longer in its notebook; return what stops that. */
export function followCell({ notebook, cell }: PlacedCell, onEnd: () => void): () => void {
  const signals = [cell?.changed, notebook.changed];
  const stop = (): void => {
    for (const signal of signals) signal?.disconnect(check);
  };
  const check = (): void => {
    if (isWaiting({ notebook, cell })) return;
    stop();
    onEnd();
  };
  for (const signal of signals) signal?.connect(check);
  return stop;
}

/** Whether a cell is in its notebook and has not run there. */
function isWaiting({ notebook, cell }: PlacedCell): boolean {
  if (!cell) return true;
  const isThere = notebook.cells?.includes(cell) ?? true;
  return isThere && cell.execution_count == null && cell.executionState !== "running";
}
