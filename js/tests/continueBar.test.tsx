import { expect, test, vi } from "vitest";
import { createContinueRenderer } from "../src/lab/continueBar";
import type { Comm, NotebookPanel, NotebookTracker, RendererContext } from "../src/lab/types";

const MIME = "application/vnd.nbtool.continue+json";
const CHAT = { v: 1, chat_id: "chat_0123456789abcdef0123", ended: Date.now() / 1000 - 86_400, turns: 27 };

/** What a cell of a notebook does when it runs: it defines these names, or fails with this error. */
interface Cell {
  source: string;
  defines?: string[];
  error?: [ename: string, evalue: string];
}

/** A bar in a notebook of these cells, whose kernel gives this answer. */
async function bar(data: unknown, answer: object | null, cells: Cell[] = []) {
  const known = new Set<string>();
  const outputs = cells.map((): object[] => []);
  const counts: (number | null)[] = cells.map(() => null);
  const sources = cells.map(({ source }) => source);
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
  const requestInspect = async ({ code }: { code: string }) => ({
    content: { status: "ok", found: known.has(code) },
  });
  const kernel = { connectionStatus: "connected", status: "idle", createComm: () => comm, requestInspect };
  const runCells = vi.fn(async (_: unknown, [widget]: object[]) => {
    const at = widgets.indexOf(widget as (typeof widgets)[number]);
    const { defines = [], error } = cells[at] ?? { source: "" };
    counts[at] = runCells.mock.calls.length + 1;
    outputs[at] = error ? [{ output_type: "error", ename: error[0], evalue: error[1] }] : [];
    for (const name of defines) known.add(name);
    return !error;
  });
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
      model: {
        sharedModel: {
          getCell: (at: number) => ({
            getSource: () => sources[at],
            getOutputs: () => outputs[at],
            outputs: outputs[at],
            execution_count: counts[at],
          }),
        },
      },
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
  const said = (): string[] => [...renderer.node.querySelectorAll("p")].map((text) => text.textContent);
  return { el: renderer.node, asked, press, runCells, widgets, cells, said };
}

test("the bar says when the earlier chat was used and how long it is, and asks nothing", async () => {
  const { el, asked } = await bar(CHAT, {});

  expect(el.textContent).toBe("Yesterday: 27 turns in this notebook's earlier chatContinueNew");
  expect(asked).toEqual([]);
});

test("one click continues it, and another runs the cells that define what is missing, in their order", async () => {
  const cells = [
    { source: "%%chat\ndef price(): 1" },
    { source: "x = 1" },
    { source: "@tool\ndef price(n):\n    return n", defines: ["price"] },
    { source: "df: Frame = load()", defines: ["df"] },
    { source: "priced = 2" },
  ];
  const { el, asked, press, runCells, widgets } = await bar(CHAT, { missing: ["df", "price"] }, cells);

  await press("Continue");
  expect(asked).toEqual([{ v: 1, kind: "continue", chat: "main", turn: CHAT.chat_id }]);
  expect(el.textContent).toContain("Run the 2 cells that define df, price");
  await press("Run the 2 cells");

  expect(runCells.mock.calls.map((call) => (call as unknown[])[1])).toEqual([[widgets[2]], [widgets[3]]]);
  expect([...el.querySelectorAll("button")]).toEqual([]);
});

test("a cell that fails is named with its error, the others run, and the button stays for what is left", async () => {
  const cells: Cell[] = [
    {
      source: "means = by_region_2_result",
      error: ["NameError", "name 'by_region_2_result' is not defined"],
    },
    { source: "def price(n):\n    return n", defines: ["price"] },
    { source: "top = means.head()", error: ["NameError", "name 'means' is not defined"] },
    { source: "df = load()", error: ["FileNotFoundError", "no `data.csv`\u202e here\nat all"] },
  ];
  const { el, press, said, runCells, widgets } = await bar(
    CHAT,
    { missing: ["df", "means", "price", "top"] },
    cells,
  );
  await press("Continue");

  await press("Run the 4 cells");

  expect(runCells.mock.calls.map(([, ran]) => ran)).toEqual(widgets.map((widget) => [widget]));
  expect(said()).toMatchSnapshot();
  expect(el.textContent).toContain("Run the 3 cells that define df, means, top");

  cells[0] = { source: "", defines: ["means"] };
  cells[2] = { source: "", defines: ["top"] };
  await press("Run the 3 cells");

  expect(said().at(-1)).toBe("Still missing: df.");
  expect(el.textContent).toContain("Run the cell that defines df");
});

test("cells beyond the third that fail are counted", async () => {
  const names = ["a", "b", "c", "d", "e"];
  const cells = names.map(
    (name): Cell => ({ source: `${name} = 1 / 0`, error: ["ZeroDivisionError", "1/0"] }),
  );
  const { press, said } = await bar(CHAT, { missing: names }, cells);
  await press("Continue");

  await press("Run the 5 cells");

  expect(said()).toMatchSnapshot();
});

test("while the cells run, the button says which and cannot be pressed again", async () => {
  const { el, press, runCells } = await bar(CHAT, { missing: ["a"] }, [{ source: "a = 1" }]);
  let end = (_: boolean): void => {};
  runCells.mockImplementation(() => new Promise<boolean>((resolve) => (end = resolve)));
  await press("Continue");

  await press("Run the cell");

  expect(el.querySelector("button")?.textContent).toBe("Running cell 1 of 1");
  expect(el.querySelector("button")?.disabled).toBe(true);
  end(false);
  await press("");
  expect(el.textContent).toContain("Cell [ ] failed: it did not run to its end. Correct that cell.");
  expect(el.querySelector("button")?.disabled).toBe(false);
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
