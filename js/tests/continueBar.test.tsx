import { expect, test, vi } from "vitest";
import { createContinueRenderer } from "../src/lab/continueBar";
import type { Comm, NotebookPanel, NotebookTracker, RendererContext } from "../src/lab/types";

const MIME = "application/vnd.nbtool.continue+json";
const CHAT = { v: 1, chat_id: "chat_0123456789abcdef0123", ended: Date.now() / 1000 - 86_400, turns: 27 };

/** A bar in a notebook of these cells, whose kernel gives this answer. */
async function bar(data: unknown, answer: object | null, sources: string[] = []) {
  const asked: object[] = [];
  const widgets = sources.map(() => ({ node: document.createElement("div") }));
  const comm: Comm = {
    onMsg: undefined,
    onClose: undefined,
    open(request) {
      asked.push(request);
      if (answer) comm.onMsg?.({ content: { data: { v: 1, ok: true, text: "Continues here.", ...answer } } });
      else comm.onClose?.();
    },
    close: () => {},
  };
  const kernel = { connectionStatus: "connected", status: "idle", createComm: () => comm };
  const runCells = vi.fn(async () => true);
  class Widget {
    node = document.createElement("div");
    isDisposed = false;
    dispose(): void {}
  }
  const panel = {
    node: document.body,
    sessionContext: { session: { kernel } },
    content: {
      widgets,
      model: { sharedModel: { getCell: (at: number) => ({ getSource: () => sources[at] }) } },
      activeCellIndex: 0,
      mode: "edit",
    },
  } as unknown as NotebookPanel;
  const tracker = { find: () => panel } as unknown as NotebookTracker;
  const context = {
    shared: { Widget, NotebookActions: { runCells } },
    tracker,
  } as unknown as RendererContext;
  const renderer = createContinueRenderer(context).createRenderer({});
  await renderer.renderModel({ data: { [MIME]: data }, trusted: false });
  const press = async (name: string): Promise<void> => {
    [...renderer.node.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name))?.click();
    await new Promise((resolve) => setTimeout(resolve, 10));
  };
  return { el: renderer.node, asked, press, runCells, widgets };
}

test("the bar says when the earlier chat was used and how long it is, and asks nothing", async () => {
  const { el, asked } = await bar(CHAT, {});

  expect(el.textContent).toBe("Yesterday: 27 turns in this notebook's earlier chatContinueNew");
  expect(asked).toEqual([]);
});

test("one click continues it, and another runs the cells that define what is missing, in their order", async () => {
  const cells = [
    "%%chat\ndef price(): 1",
    "x = 1",
    "@tool\ndef price(n):\n    return n",
    "df: Frame = load()",
    "priced = 2",
  ];
  const { el, asked, press, runCells, widgets } = await bar(CHAT, { missing: ["df", "price"] }, cells);

  await press("Continue");
  expect(asked).toEqual([{ v: 1, kind: "continue", chat: "main", turn: CHAT.chat_id }]);
  expect(el.textContent).toContain("Run the 2 cells that define df, price");
  await press("Run the 2 cells");

  expect(runCells.mock.calls.map((call) => (call as unknown[])[1])).toEqual([[widgets[2]], [widgets[3]]]);
  expect([...el.querySelectorAll("button")]).toEqual([]);
});

test("a kernel without nbtool leaves the choice open, and says what to run", async () => {
  const { el, press } = await bar(CHAT, null);

  await press("Continue");

  expect(el.querySelector("[role=status]")?.textContent).toContain("has not loaded nbtool");
  expect(el.textContent).toContain("Continue");
});

test.each([{ ...CHAT, chat_id: "x; import os" }, { ...CHAT, turns: "many" }, { ...CHAT, v: 2 }, null])(
  "nothing is drawn of data of another form",
  async (data) => {
    expect((await bar(data, {})).el.textContent).toBe("");
  },
);
