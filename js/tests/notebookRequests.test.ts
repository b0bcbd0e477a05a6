import { beforeEach, expect, test, vi } from "vitest";
import { answerNotebookRequests } from "../src/lab/notebookRequests";
import type { Comm, CommOpen, NotebookPanel, NotebookTracker } from "../src/lab/types";
import * as cellRequests from "../src/notebook/cellRequests";

type OnOpen = (comm: Comm, message: CommOpen) => void;

/** A kernel's connection of this page: its targets, and a signal that it was exchanged. */
class Connection {
  targets: Record<string, OnOpen> = {};
  constructor(readonly clientId: string) {}
  registerCommTarget = (target: string, onOpen: OnOpen): void => {
    this.targets[target] = onOpen;
  };
}

/** A notebook with one code cell `a` and the running one, `chat`. */
class Panel {
  session: { kernel: Connection } | null;
  onKernelChanged: () => void = () => {};
  cells = [
    { id: "a", cell_type: "code", getSource: () => "x = 1", getOutputs: () => [], execution_count: 1 },
    { id: "chat", cell_type: "code", getSource: () => "%%chat", getOutputs: () => [], execution_count: null },
  ];
  constructor(connection: Connection | null) {
    this.session = connection && { kernel: connection };
  }
  get sessionContext() {
    const { session } = this;
    return {
      session,
      kernelChanged: { connect: (listener: () => void) => (this.onKernelChanged = listener) },
    };
  }
  content = { model: { sharedModel: { cells: this.cells } } };
}

let connection: Connection;
let panels: Panel[];
let onAdded: (tracker: unknown, panel: NotebookPanel) => void;
let sent: unknown[];
let comm: Comm & { isDisposed: boolean };
let load: () => Promise<typeof cellRequests>;

beforeEach(() => {
  connection = new Connection("page");
  panels = [new Panel(connection)];
  sent = [];
  load = vi.fn(() => Promise.resolve(cellRequests));
  comm = {
    isDisposed: false,
    send: (data: object) => sent.push(data),
    open() {},
    close() {},
    onMsg: undefined,
    onClose: undefined,
  };
  const tracker = {
    find: (matches: (panel: NotebookPanel) => boolean) =>
      panels.find((panel) => matches(panel as unknown as NotebookPanel)),
    forEach: (visit: (panel: NotebookPanel) => void) => {
      for (const panel of panels) visit(panel as unknown as NotebookPanel);
    },
    widgetAdded: { connect: (listener: typeof onAdded) => (onAdded = listener) },
  };
  answerNotebookRequests(tracker as unknown as NotebookTracker, () => load());
});

async function open(session = "page", data: unknown = { v: 1, nonce: "n", cell: "chat" }): Promise<void> {
  connection.targets["nbtool.notebook"]?.(comm, { parent_header: { session }, content: { data } });
  await new Promise((resolve) => setTimeout(resolve)); // until what is loaded has come
}

const ask = (data: unknown): void => comm.onMsg?.({ content: { data } });
const last = (): { content?: Record<string, unknown> } => sent.at(-1) as { content: Record<string, unknown> };

test("the page whose request opened the way says so, and answers with the nonce", async () => {
  await open();
  expect(sent).toEqual([{ method: "custom", content: { v: 1, nonce: "n", id: "hello" } }]);

  ask({ v: 1, nonce: "n", id: "1", op: "cells", output: 10 });

  expect(last().content).toMatchObject({
    ...{ v: 1, nonce: "n", id: "1", kind: "cells" },
    cells: [{ id: "a" }, { id: "chat" }],
  });
});

test.each([
  ["another page", "other", { v: 1, nonce: "n", cell: "chat" }],
  ["another notebook", "page", { v: 1, nonce: "n", cell: "elsewhere" }],
  ["another version", "page", { v: 2, nonce: "n", cell: "chat" }],
  ["no nonce", "page", { v: 1, cell: "chat" }],
  ["nothing", "page", null],
])("a way that was opened by or with %s is left without an answer", async (_, session, data) => {
  await open(session, data);
  ask({ v: 1, nonce: "n", id: "1", op: "cells", output: 10 });

  expect(sent).toEqual([]);
});

test.each([
  { v: 1, nonce: "other", id: "1", op: "cells", output: 10 },
  { v: 1, nonce: "n", op: "cells", output: 10 },
  { v: 2, nonce: "n", id: "1", op: "cells", output: 10 },
  { v: 1, nonce: "n", id: "1", op: "eval", source: "x" },
  null,
])("a message of another form is not answered: %j", async (data) => {
  await open();
  ask(data);

  expect(sent.length).toBe(1);
});

test("what reads cells is loaded for a page that answers, and only there", async () => {
  expect(load).not.toHaveBeenCalled();
  await open("other");
  expect(load).not.toHaveBeenCalled();
  await open();
  expect(load).toHaveBeenCalledTimes(1);
});

test("a way that was closed while it was loaded, or that cannot be loaded, is left without an answer", async () => {
  comm.isDisposed = true;
  await open();
  comm.isDisposed = false;
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  load = () => Promise.reject(new Error("no such file"));
  await open();

  expect(sent).toEqual([]);
  expect(warn).toHaveBeenCalledOnce();
  warn.mockRestore();
});

test("a kernel that is exchanged and a notebook that is opened later are answered too", async () => {
  const next = new Connection("page");
  (panels[0] as Panel).session = { kernel: next };
  panels[0]?.onKernelChanged();
  connection = next;
  await open();
  expect(sent.length).toBe(1);

  connection = new Connection("second");
  const panel = new Panel(connection);
  panels.push(panel);
  onAdded(null, panel as unknown as NotebookPanel);
  await open("second");
  expect(sent.length).toBe(2);
});

test("a notebook without a kernel is no error", () => {
  panels.push(new Panel(null));
  onAdded(null, panels.at(-1) as unknown as NotebookPanel);

  expect(sent).toEqual([]);
});
