import { CONVERSATION_MIME, HISTORY_MIME } from "../saved/parse";
import { findPanel, isAlive } from "./actions";
import type { HistoryViews } from "./historyViews";
import type { MimeModel, Renderer, RendererContext, RendererFactory } from "./types";

const WIDGET_MIME = "application/vnd.jupyter.widget-view+json";

/** Shown of data that is not as nbtool saves it. */
const UNREADABLE = "What is saved here cannot be read. Run the cell above to see it.";

/** Before the renderer of widgets, whose rank is -10. */
const RANK = -20;

/** Shown if the page could not load what draws the data. */
const NOT_LOADED = "This view could not be loaded. Run the cell above to see it, or reload the page.";

/**
 * Make what draws the outputs of `%chat explore` and `%chat show`: the widget, where a kernel has it, else what was
 * saved with the notebook. It may draw in notebooks that are not trusted, but then without the widget.
 */
export function createHistoryRenderers(
  context: RendererContext,
  load: () => Promise<HistoryViews>,
): RendererFactory[] {
  return [HISTORY_MIME, CONVERSATION_MIME].map((mimeType) => {
    const draw = async (model: MimeModel, el: HTMLElement): Promise<(() => void) | null> =>
      (await load())(mimeType, model.data[mimeType], el);
    const View = makeRendererClass(context, draw);
    return { safe: true, mimeTypes: [mimeType], defaultRank: RANK, createRenderer: () => new View() };
  });
}

function makeRendererClass(
  { shared, rendermime, tracker }: RendererContext,
  draw: (model: MimeModel, el: HTMLElement) => Promise<(() => void) | null>,
): new () => Renderer {
  return class SavedHistory extends shared.Widget implements Renderer {
    #model: MimeModel | undefined;
    #live: Renderer | undefined;
    #saved = document.createElement("div");
    /** Removes what is drawn of the saved form; null while nothing is, and nothing was asked for. */
    #remove: (() => void) | null = null;
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
      if (isLive) this.#removeSaved();
      else if (!this.#remove && this.#model) void this.#drawSaved(this.#model);
    }

    /** Draw the saved form when the views are loaded, if it is still wanted then. */
    async #drawSaved(model: MimeModel): Promise<void> {
      const place = document.createElement("div");
      let isWanted = true;
      this.#remove = (): void => {
        isWanted = false;
        place.remove();
      };
      this.#saved.append(place);
      try {
        const unmount = await draw(model, place);
        if (!unmount) showLine(place, UNREADABLE);
        else if (!isWanted) unmount();
        else
          this.#remove = (): void => {
            unmount();
            place.remove();
          };
      } catch (error) {
        console.warn("nbtool: the view of a saved conversation could not be loaded.", error);
        showLine(place, NOT_LOADED);
      }
    }

    #removeSaved(): void {
      this.#remove?.();
      this.#remove = null;
    }

    #clear(): void {
      this.#observer.disconnect();
      this.#removeSaved();
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

function showLine(el: HTMLElement, text: string): void {
  const line = document.createElement("p");
  line.className = "nb-muted";
  line.textContent = text;
  el.replaceChildren(line);
}
