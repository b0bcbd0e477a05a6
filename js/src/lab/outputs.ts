/** The way of a result to JupyterLab's renderers, and to the outputs of its cell. */
import type { OutputDrawer } from "../kernel/pageServices";
import { cellIndex, findPanelOfCell } from "./actions";
import type { drawResult } from "./results";
import type { RendererContext } from "./types";

/** Make the drawer of results of a page; what draws them is loaded with the first. */
export function makeOutputDrawer(
  { shared, rendermime, tracker }: RendererContext,
  load: () => Promise<{ drawResult: typeof drawResult }>,
): OutputDrawer {
  return {
    async draw(el, display) {
      const { drawResult } = await load();
      const registry = findPanelOfCell(el, tracker)?.content.rendermime ?? rendermime;
      return drawResult(shared, registry, el, display);
    },
    addOutput(el, { mime, text }) {
      const panel = findPanelOfCell(el, tracker);
      const at = cellIndex(el, panel);
      const cell = at < 0 ? undefined : panel?.content.model?.sharedModel.getCell(at);
      const count = cell?.getOutputs?.().length;
      if (count === undefined || !cell?.updateOutputs) return false;
      const content: unknown = mime.endsWith("+json") ? JSON.parse(text) : text;
      cell.updateOutputs(count, count, [
        { output_type: "display_data", metadata: {}, data: { [mime]: content } },
      ]);
      return true;
    },
  };
}
