/** Answers the kernel's requests about the cells of a notebook, over a comm that the running cell of this page opened. */
import type { NotebookModel } from "../notebook/notebookModel";
import { VERSION } from "../protocol";
import type { Comm, CommOpen, Kernel, NotebookPanel, NotebookTracker } from "./types";

/** What reads and changes cells: a module of its own, loaded with the first request. */
export type CellRequests = Pick<typeof import("../notebook/cellRequests"), "answerRequest" | "startSession">;

export type LoadCellRequests = () => Promise<CellRequests>;

/** The same as in nbtool/magics/kernel/page_channel.py. */
const TARGET = "nbtool.notebook";

/** Answer the requests of every notebook of the page, also of those that are opened later. */
export function answerNotebookRequests(tracker: NotebookTracker, load: LoadCellRequests): void {
  const watch = (panel: NotebookPanel): void => {
    const register = (): void => registerTarget(panel.sessionContext.session?.kernel, tracker, load);
    panel.sessionContext.kernelChanged.connect(register);
    register();
  };
  tracker.forEach?.(watch);
  tracker.widgetAdded?.connect((_: unknown, panel: NotebookPanel) => watch(panel));
}

function registerTarget(
  kernel: Kernel | null | undefined,
  tracker: NotebookTracker,
  load: LoadCellRequests,
): void {
  kernel?.registerCommTarget?.(TARGET, (comm, opened) => void answer(comm, opened, tracker, load));
}

/**
 * Answer one comm, if it was opened by the running cell of a notebook of this page: its parent is a request that this
 * page sent. Other pages of the kernel stay silent.
 */
async function answer(
  comm: Comm,
  { parent_header, content: { data } }: CommOpen,
  tracker: NotebookTracker,
  load: LoadCellRequests,
): Promise<void> {
  const { v, nonce, cell } = (data ?? {}) as { v?: unknown; nonce?: unknown; cell?: unknown };
  const client = (parent_header as { session?: unknown } | undefined)?.session;
  const panel = tracker.find(({ sessionContext }) => {
    const kernel = sessionContext.session?.kernel;
    return kernel?.clientId !== undefined && kernel.clientId === client;
  });
  const notebook = panel?.content.model as NotebookModel | null | undefined;
  const isOpener = notebook?.sharedModel?.cells?.some(({ id }) => id === cell);
  if (v !== VERSION || typeof nonce !== "string" || typeof cell !== "string" || !isOpener) return;
  const send = (message: object): void => {
    comm.send?.({ method: "custom", content: { v: VERSION, nonce, ...message } });
  };
  try {
    const { answerRequest, startSession } = await load();
    const session = startSession(cell);
    comm.onMsg = ({ content }) => {
      const request = content.data as { v?: unknown; nonce?: unknown; id?: unknown } | null;
      if (request?.v !== VERSION || request.nonce !== nonce || typeof request.id !== "string") return;
      const reply = answerRequest(panel?.content.model as NotebookModel | null | undefined, session, request);
      if (reply) send({ id: request.id, ...reply });
    };
    if (!comm.isDisposed) send({ id: "hello", notebook: panel?.context?.path }); // the kernel requests nothing before it
  } catch (error) {
    console.warn("nbtool: the cells of this notebook could not be read.", error);
  }
}
