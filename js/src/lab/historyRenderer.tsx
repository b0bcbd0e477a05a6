import { render } from "preact";
import { Explorer } from "../explorer/Explorer";
import { createSavedClient, HISTORY_MIME, parseSavedHistory } from "../explorer/savedHistory";
import { findPanel, isAlive } from "./actions";
import type {
  MimeModel,
  NotebookTracker,
  Renderer,
  RendererFactory,
  RenderMime,
  SharedModules,
} from "./types";

const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** Shown of data that is not as nbtool saves it. */
const UNREADABLE = "This saved history cannot be read. Run the cell above to see it.";

/** Before the renderer of widgets, whose rank is -10. */
const RANK = -20;

/**
 * Make what draws the output of `%chat explore`: the widget, where a kernel has it, else the conversation that was
 * saved with the notebook. It may draw in notebooks that are not trusted, but then without the widget.
 */
export function createHistoryRenderer(
  shared: SharedModules,
  rendermime: RenderMime,
  tracker: NotebookTracker | null,
): RendererFactory {
  const History = makeRendererClass(shared, rendermime, tracker);
  return { safe: true, mimeTypes: [HISTORY_MIME], defaultRank: RANK, createRenderer: () => new History() };
}

function makeRendererClass(
  shared: SharedModules,
  rendermime: RenderMime,
  tracker: NotebookTracker | null,
): new () => Renderer {
  return class SavedHistory extends shared.Widget implements Renderer {
    #model: MimeModel | undefined;
    #live: Renderer | undefined;
    #saved = document.createElement("div");
    #isAttached = false;
    /** Widgets are drawn later than their output: the saved form is shown until then. */
    #observer = new MutationObserver(() => this.#update());

    async renderModel(model: MimeModel): Promise<void> {
      this.#model = model;
      if (this.#isAttached) await this.#draw();
    }

    /** Called by Lumino when the output is attached to the page: only then its notebook is known. */
    onAfterAttach(): void {
      this.#isAttached = true;
      if (this.#model && !this.#live) void this.#draw();
    }

    async #draw(): Promise<void> {
      const model = this.#model;
      if (!model) return;
      this.#clear();
      this.node.append(this.#saved);
      const panel = findPanel(this.node, tracker);
      if (!model.trusted || !(WIDGET_MIME in model.data)) {
        this.#update();
        return;
      }
      this.#live = (panel?.content.rendermime ?? rendermime).createRenderer(WIDGET_MIME);
      this.layout ??= new shared.PanelLayout();
      this.layout.addWidget(this.#live);
      this.#observer.observe(this.#live.node, { childList: true });
      if (!isAlive(panel)) this.#update();
      await this.#live.renderModel(model);
      this.#update();
    }

    /** Show the widget if it is drawn, else what was saved; a widget that is missing leaves only a line of text. */
    #update(): void {
      const isLive = Boolean(this.#live?.node.childElementCount);
      this.#live?.node.toggleAttribute("hidden", !isLive);
      if (isLive) {
        render(null, this.#saved);
        return;
      }
      if (this.#saved.childElementCount) return;
      const history = parseSavedHistory(this.#model?.data[HISTORY_MIME]);
      if (!history) {
        render(<p class="nb-muted">{UNREADABLE}</p>, this.#saved);
        return;
      }
      const client = createSavedClient(history);
      render(<Explorer client={client} />, this.#saved);
      client.refresh();
    }

    #clear(): void {
      this.#observer.disconnect();
      render(null, this.#saved);
      this.#live?.dispose();
      this.#live = undefined;
    }

    override dispose(): void {
      if (this.isDisposed) return;
      this.#clear();
      super.dispose();
    }
  } as unknown as new () => Renderer;
}
