/**
 * Which saved turns are not on the current line of their chat. What a file says of that was true when it was written, so the
 * kernel is asked: once the turns are drawn, and after a cell about a chat has run.
 */
import { VERSION } from "../protocol";
import { requestFromKernel } from "./kernelRequest";
import type { IopubMessage, NotebookPanel } from "./types";

/** Turns of one request, as `MAX_ASKED_TURNS` of nbtool/view/saved_turn_messages.py. */
const MAX_ASKED = 500;

/** How long is waited for further turns that are drawn. */
const GATHER_MS = 100;

/** A cell that may have changed the current line of a chat. */
const ABOUT_CHATS = /chat|branch|switch/i;

/** A saved turn that is drawn in a notebook. */
export interface LineView {
  readonly turn: string;
  /** Whether what it shows may be untrue: what a running cell shows, the kernel that runs it keeps true itself. */
  isDoubtful: boolean;
  /** Show why later prompts do not see the turn; an empty text for one that they see. */
  show(note: string): void;
}

const lines = new WeakMap<NotebookPanel, NotebookLine>();

/** Return what keeps the notes of the turns of a notebook true. */
export function lineOf(panel: NotebookPanel): NotebookLine {
  const line = lines.get(panel) ?? new NotebookLine(panel);
  lines.set(panel, line);
  return line;
}

export class NotebookLine {
  readonly #views = new Set<LineView>();
  readonly #panel: NotebookPanel;
  #timer = 0;
  #isAboutChats = false;

  constructor(panel: NotebookPanel) {
    this.#panel = panel;
    panel.sessionContext.iopubMessage?.connect(this.#onMessage);
  }

  add(view: LineView): void {
    this.#views.add(view);
    if (view.isDoubtful) this.ask();
  }

  remove(view: LineView): void {
    this.#views.delete(view);
  }

  /** Ask the kernel about all turns of which it is in doubt, soon and once. */
  ask(): void {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#askNow(), GATHER_MS);
  }

  async #askNow(): Promise<void> {
    const doubtful = [...this.#views].filter((view) => view.isDoubtful);
    const turns = [...new Set(doubtful.map(({ turn }) => turn))].slice(-MAX_ASKED);
    if (!turns.length) return;
    const kernel = this.#panel.sessionContext.session?.kernel;
    const notes = (await requestFromKernel(kernel, { v: VERSION, kind: "line", turns }))?.notes;
    for (const view of doubtful) {
      const note = notes?.[view.turn];
      if (typeof note === "string") view.show(note);
    }
  }

  #onMessage = (_: unknown, { header, parent_header, content }: IopubMessage): void => {
    const isNewKernel = header.msg_type === "status" && content.execution_state === "starting";
    if (isNewKernel) for (const view of this.#views) view.isDoubtful = true;
    if (parent_header.msg_type !== "execute_request") return;
    if (header.msg_type === "execute_input") this.#isAboutChats = ABOUT_CHATS.test(content.code ?? "");
    const isEnd = header.msg_type === "status" && content.execution_state === "idle";
    if (isEnd && this.#isAboutChats) this.ask();
  };
}
