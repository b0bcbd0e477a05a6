/** The renderer of saved turns in JupyterLab, by their media type. */
import { render } from "preact";
import type { Resend } from "../kernel/turn";
import type { InsertedCell } from "../notebook/insertCell";
import { type ActionId, type Document, type SavedTurnRequest, VERSION } from "../protocol";
import { hasSavedNote, type OfflineConnection, offlineConnection } from "../saved/offline";
import { parseSavedTurn, TURN_MIME } from "../saved/parse";
import { Saved } from "../saved/Saved";
import { announce } from "../views/LiveRegion";
import { keepAt } from "../views/scroller";
import {
  actionsFor,
  cellIndex,
  cellSource,
  findPanel,
  insertActionCell,
  insertCell,
  isAlive,
} from "./actions";
import { learnMagic } from "./chatSyntax";
import { takeLostFocus } from "./focus";
import { requestFromKernel } from "./kernelRequest";
import { type LineView, lineOf } from "./line";
import { canRepeat, chatCellOf, runCell } from "./repeat";
import { applyAnswer, requestFor } from "./savedTurnRequests";
import type { MimeModel, NotebookPanel, Renderer, RendererContext, RendererFactory } from "./types";
import { keepWhole } from "./wholeOutput";

/** What switching to a version did, and the button that had the focus, if one had: until JupyterLab draws the new output. */
const switched = new Map<string, { outcome: InsertedCell; focused: FocusedButton | undefined }>();

/** The name of the button of a version, and its distance from the top of the window. */
interface FocusedButton {
  name: string | null;
  top: number;
}

/** Return the button of a version that has the focus. */
function focusedVersionButton(node: Node): FocusedButton | undefined {
  const { activeElement } = globalThis.document;
  const button = node.contains(activeElement) ? activeElement?.closest(".nb-versions button") : null;
  return button
    ? { name: button.getAttribute("aria-label"), top: button.getBoundingClientRect().top }
    : undefined;
}

/** Focus the same button of the new view, at the same place of the window; what is said below it is in sight. */
function restoreButton(node: HTMLElement, { name, top }: FocusedButton): void {
  const buttons = [...node.querySelectorAll<HTMLElement>(".nb-versions button")];
  const button = buttons.find((one) => one.getAttribute("aria-label") === name);
  if (!button) return;
  button.focus({ preventScroll: true });
  keepAt(button, top);
  node.querySelector(".nb-inserted-cell")?.scrollIntoView({ block: "nearest" });
}

/** Make what draws saved turns. It may draw in notebooks that are not trusted: what it draws is checked, and is text. */
export function createTurnRenderer(context: RendererContext): RendererFactory {
  const Turns = makeRendererClass(context);
  return { safe: true, mimeTypes: [TURN_MIME], defaultRank: 0, createRenderer: () => new Turns() };
}

type RendererClass = new () => Renderer;

function makeRendererClass({ shared, rendermime, tracker }: RendererContext): RendererClass {
  return class SavedTurn extends shared.Widget implements Renderer {
    #panel: NotebookPanel | undefined;
    #turn: OfflineConnection | undefined;
    #fallback: Renderer | undefined;
    #count = 0;
    #stopKeeping = (): void => {};
    #lineView: LineView | undefined;
    #wasAlive = false;

    /** Draw a turn; what is none, or not of this version, is left to the forms that the notebook has beside it. */
    async renderModel(model: MimeModel): Promise<void> {
      const document = parseSavedTurn(model.data[TURN_MIME]);
      if (document) this.#draw(document);
      else await this.#renderFallback(model);
    }

    #draw(document: Document): void {
      this.#clear();
      const turn = offlineConnection(
        document,
        (action, version, reference) => void this.#runAction(turn, action, version, reference),
        {
          ...(document.head.turn_id && { resend: this.#resendOf(document) }),
          insertCell: (text, note) => turn.showOutcome({ ...insertCell(this.node, this.#panel, text), note }),
        },
      );
      this.#turn = turn;
      this.#wasAlive = false;
      this.#updateActions();
      const change = switched.get(document.head.turn_id);
      switched.delete(document.head.turn_id);
      if (change) turn.showOutcome(change.outcome);
      render(<Saved key={++this.#count} connection={turn} />, this.node);
      const { version = 1, versions = 1 } = document.head;
      if (versions > 1) announce(change ? `Version ${version} of ${versions}.` : "");
      requestAnimationFrame(() => {
        if (change?.focused) restoreButton(this.node, change.focused);
        takeLostFocus(this.node);
      });
    }

    /** Return what sends the turn's cell again; undefined where its page could not, so that a cell below does. */
    #resendOf({ head }: Document): Resend {
      return {
        prompt: () => chatCellOf(this.node, this.#panel)?.prompt,
        send: async (prompt) => {
          const own = shared.NotebookActions?.runCells && chatCellOf(this.node, this.#panel);
          if (!own) return { isSent: false, text: "" };
          const { inPlace, text } = await canRepeat(own, head);
          if (!inPlace || own.cell.getSource() !== `${own.above}${own.prompt}`)
            return { isSent: false, text };
          if (prompt !== undefined && prompt !== own.prompt) own.cell.setSource(`${own.above}${prompt}`);
          return { isSent: runCell(shared, own.panel, own.widget), text };
        },
      };
    }

    /** Keep it true whether later prompts see the turn, while it is in a notebook. */
    #watchLine(): void {
      const [panel, turn] = [this.#panel, this.#turn];
      const head = turn?.state().document.head;
      if (this.#lineView && panel) lineOf(panel).remove(this.#lineView);
      this.#lineView = undefined;
      if (!panel || !turn || !head?.turn_id) return;
      const about = { v: VERSION, chat: head.chat ?? "main", turn: head.turn_id } as const;
      const act = (request: SavedTurnRequest): void => void this.#useBranch(turn, request);
      this.#lineView = {
        turn: head.turn_id,
        isDoubtful: !isKernelBusy(panel) || hasSavedNote(turn.state().document),
        show: (note) =>
          turn.setLine(note, {
            goBack: () => act({ ...about, kind: "switch" }),
            name: (name) => act({ ...about, kind: "name", name }),
          }),
      };
      lineOf(panel).add(this.#lineView);
      void this.#showSeen(turn);
    }

    /** Ask for the values that the model has by reference: no file has them. */
    async #showSeen(turn: OfflineConnection): Promise<void> {
      const { head, blocks } = turn.state().document;
      if (!blocks.some((block) => block.kind === "call" && block.is_described)) return;
      const request = { v: VERSION, kind: "seen", turn: head.turn_id } as const;
      const answer = await requestFromKernel(this.#panel?.sessionContext.session?.kernel, request);
      if (answer?.seen && Object.keys(answer.seen).length) turn.setSeen(answer.seen);
    }

    /** Go to the turn's branch, or name it, and show what the kernel says. */
    async #useBranch(turn: OfflineConnection, request: SavedTurnRequest): Promise<void> {
      turn.showOutcome({ state: "requested", text: "" });
      const answer = await requestFromKernel(this.#panel?.sessionContext.session?.kernel, request);
      if (answer) turn.showOutcome({ state: answer.ok ? "done" : "refused", text: answer.text });
      else
        turn.showOutcome({
          state: "refused",
          text: "nbtool is not loaded in this kernel: run `%load_ext nbtool`.",
        });
      if (this.#panel) lineOf(this.#panel).ask();
    }

    /** Run an action in place if the kernel knows nbtool, else by a cell below. */
    async #runAction(
      turn: OfflineConnection,
      action: ActionId,
      version?: number,
      reference?: string,
    ): Promise<void> {
      const { head } = turn.state().document;
      const request = requestFor(action, head, version, reference);
      if (request) {
        turn.showOutcome({ state: "requested", text: "" });
        const answer = await requestFromKernel(this.#panel?.sessionContext.session?.kernel, request);
        if (answer) {
          if (answer.ok && request.kind === "version") {
            const outcome = { state: "done", text: answer.text } as const;
            switched.set(request.other, { outcome, focused: focusedVersionButton(this.node) });
          }
          turn.showOutcome(applyAnswer(this.node, this.#panel, head, answer));
          return;
        }
      }
      const detail = { version, reference };
      const isShown = action === "explore"; // its cell only shows something
      await insertActionCell(this.node, this.#panel, action, head, detail, turn.showOutcome);
      if (isShown) this.#runInserted(turn);
    }

    /** Run the cell that was inserted below, unless nbtool has to be loaded first. */
    #runInserted(turn: OfflineConnection): void {
      const { state, placed } = turn.state().insertedCell ?? {};
      const widget = this.#panel?.content.widgets[cellIndex(this.node, this.#panel) + 1];
      if (state !== "below" || !placed || !this.#panel || !widget) return;
      if (runCell(shared, this.#panel, widget)) turn.showOutcome(null);
    }

    async #renderFallback(model: MimeModel): Promise<void> {
      const { [TURN_MIME]: _, ...others } = model.data;
      const mimeType = rendermime.preferredMimeType(others, model.trusted ? "any" : "ensure");
      if (!mimeType) return;
      this.#clear();
      this.#fallback = rendermime.createRenderer(mimeType);
      this.layout ??= new shared.PanelLayout();
      this.layout.addWidget(this.#fallback);
      await this.#fallback.renderModel(model);
    }

    /** Remove the former content: JupyterLab renders a changed output with the same renderer. */
    #clear(): void {
      render(null, this.node);
      this.#turn = undefined;
      this.#fallback?.dispose();
      this.#fallback = undefined;
    }

    /** Called by Lumino when the output is attached to the page: only then its notebook is known. */
    onAfterAttach(): void {
      this.#setPanel(findPanel(this.node, tracker));
      if (this.#turn) learnMagic(cellSource(this.node, this.#panel));
    }

    /** Called by Lumino before the output leaves the page. */
    onBeforeDetach(): void {
      this.#setPanel(undefined);
    }

    override dispose(): void {
      if (this.isDisposed) return;
      this.#setPanel(undefined);
      render(null, this.node);
      super.dispose();
    }

    #setPanel(panel: NotebookPanel | undefined): void {
      for (const signal of signalsOf(this.#panel)) signal.disconnect(this.#updateActions);
      if (this.#lineView && this.#panel) lineOf(this.#panel).remove(this.#lineView);
      this.#panel = panel;
      this.#wasAlive = false;
      for (const signal of signalsOf(panel)) signal.connect(this.#updateActions);
      this.#stopKeeping();
      this.#stopKeeping = keepWhole(this.node, panel);
      this.#updateActions();
    }

    #updateActions = (): void => {
      const document = this.#turn?.state().document;
      const isKernelAlive = isAlive(this.#panel);
      this.#turn?.setActions(document?.head.turn_id && isKernelAlive ? actionsFor(document) : []);
      if (isKernelAlive && !this.#wasAlive) this.#watchLine(); // after a reload the kernel is connected later
      this.#wasAlive = isKernelAlive;
    };
  } as unknown as RendererClass;
}

function isKernelBusy(panel: NotebookPanel): boolean {
  return panel.sessionContext.session?.kernel?.status === "busy";
}

function signalsOf(panel: NotebookPanel | undefined) {
  const context = panel?.sessionContext;
  return context ? [context.kernelChanged, context.connectionStatusChanged, context.statusChanged] : [];
}
