import { render } from "preact";
import type { Document } from "../protocol";
import { type Still, still } from "../saved/offline";
import { readSaved, TURN_MIME } from "../saved/parse";
import { Saved } from "../saved/Saved";
import { deedsOf, isAlive, panelOf, putBelow } from "./actions";
import type {
  MimeModel,
  NotebookPanel,
  NotebookTracker,
  Renderer,
  RendererFactory,
  RenderMime,
  Shared,
} from "./types";

/** Make what draws saved turns. It may draw in notebooks that are not trusted: what it draws is checked, and is text. */
export function turns(
  shared: Shared,
  rendermime: RenderMime,
  tracker: NotebookTracker | null,
): RendererFactory {
  const Turns = rendererOf(shared, rendermime, tracker);
  return { safe: true, mimeTypes: [TURN_MIME], defaultRank: 0, createRenderer: () => new Turns() };
}

type Made = new () => Renderer;

function rendererOf(shared: Shared, rendermime: RenderMime, tracker: NotebookTracker | null): Made {
  return class SavedTurn extends shared.Widget implements Renderer {
    #panel: NotebookPanel | undefined;
    #turn: Still | undefined;
    #other: Renderer | undefined;
    #count = 0;

    /** Draw a turn; what is none, or not of this version, is left to the forms that the notebook has beside it. */
    async renderModel(model: MimeModel): Promise<void> {
      const document = readSaved(model.data[TURN_MIME]);
      if (document) this.#draw(document);
      else await this.#leave(model);
    }

    #draw(document: Document): void {
      this.#clear();
      this.#turn = still(document, (deed, version) =>
        putBelow(this.node, this.#panel, deed, document.head, version),
      );
      this.#offer();
      render(<Saved key={++this.#count} connection={this.#turn} />, this.node);
    }

    async #leave(model: MimeModel): Promise<void> {
      const { [TURN_MIME]: _, ...others } = model.data;
      const mimeType = rendermime.preferredMimeType(others, model.trusted ? "any" : "ensure");
      if (!mimeType) return;
      this.#clear();
      this.#other = rendermime.createRenderer(mimeType);
      this.layout ??= new shared.PanelLayout();
      this.layout.addWidget(this.#other);
      await this.#other.renderModel(model);
    }

    /** Take away what was drawn before: JupyterLab draws an output that changes with the same renderer. */
    #clear(): void {
      render(null, this.node);
      this.#turn = undefined;
      this.#other?.dispose();
      this.#other = undefined;
    }

    /** Called by Lumino when the output has come into the page: only now it is known in which notebook. */
    onAfterAttach(): void {
      this.#listen(panelOf(this.node, tracker));
    }

    /** Called by Lumino before the output leaves the page. */
    onBeforeDetach(): void {
      this.#listen(undefined);
    }

    override dispose(): void {
      if (this.isDisposed) return;
      this.#listen(undefined);
      render(null, this.node);
      super.dispose();
    }

    #listen(panel: NotebookPanel | undefined): void {
      for (const signal of signalsOf(this.#panel)) signal.disconnect(this.#offer);
      this.#panel = panel;
      for (const signal of signalsOf(panel)) signal.connect(this.#offer);
      this.#offer();
    }

    #offer = (): void => {
      const head = this.#turn?.shown().document.head;
      this.#turn?.offer(head?.turn_id && isAlive(this.#panel) ? deedsOf(head) : []);
    };
  } as unknown as Made;
}

function signalsOf(panel: NotebookPanel | undefined) {
  const context = panel?.sessionContext;
  return context ? [context.kernelChanged, context.connectionStatusChanged, context.statusChanged] : [];
}
