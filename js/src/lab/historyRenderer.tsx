import { type JSX, render } from "preact";
import { Conversation } from "../conversation/Conversation";
import {
  CONVERSATION_MIME,
  createSavedClient as createConversationClient,
  parseSavedConversation,
} from "../conversation/saved";
import { Explorer } from "../explorer/Explorer";
import {
  createSavedClient as createHistoryClient,
  HISTORY_MIME,
  parseSavedHistory,
} from "../explorer/savedHistory";
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
const UNREADABLE = "What is saved here cannot be read. Run the cell above to see it.";

/** Before the renderer of widgets, whose rank is -10. */
const RANK = -20;

/** What is drawn of the saved data of an output, by its media type; null where the data is invalid. */
const SAVED_VIEWS: Record<string, (data: unknown) => JSX.Element | null> = {
  [HISTORY_MIME]: (data) => {
    const history = parseSavedHistory(data);
    return history && <Explorer client={createHistoryClient(history)} />;
  },
  [CONVERSATION_MIME]: (data) => {
    const conversation = parseSavedConversation(data);
    return conversation && <Conversation client={createConversationClient(conversation)} />;
  },
};

/**
 * Make what draws the outputs of `%chat explore` and `%chat show`: the widget, where a kernel has it, else what was
 * saved with the notebook. It may draw in notebooks that are not trusted, but then without the widget.
 */
export function createHistoryRenderers(
  shared: SharedModules,
  rendermime: RenderMime,
  tracker: NotebookTracker | null,
): RendererFactory[] {
  return Object.entries(SAVED_VIEWS).map(([mimeType, view]) => {
    const View = makeRendererClass(shared, rendermime, tracker, (model) => view(model.data[mimeType]));
    return { safe: true, mimeTypes: [mimeType], defaultRank: RANK, createRenderer: () => new View() };
  });
}

function makeRendererClass(
  shared: SharedModules,
  rendermime: RenderMime,
  tracker: NotebookTracker | null,
  view: (model: MimeModel) => JSX.Element | null,
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
      const saved = this.#model && view(this.#model);
      render(saved ?? <p class="nb-muted">{UNREADABLE}</p>, this.#saved);
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
