import { afterEach, beforeEach, expect, test } from "vitest";
import { describePage } from "../src/kernel/link";
import { connectTurn } from "../src/kernel/turn";
import { restoreOutput } from "../src/notebook/restore";
import { Kernel } from "./page";

const VIEW = "application/vnd.jupyter.widget-view+json";
const FORM = { "text/html": "<p>so far</p>", "text/plain": "so far" };

type Output = { data?: Record<string, unknown>; metadata?: Record<string, unknown>; name?: string };

/** A cell as JupyterLab's shared model has it; `draws` are the changes for which its view draws something again. */
class Cell {
  draws: Output[][] = [];
  appendStreamOutput = (): void => {};
  constructor(
    readonly id: string,
    public outputs: Output[] = [],
  ) {}
  getOutputs = (): Output[] => structuredClone(this.outputs);
  updateOutputs = (start: number, end: number, outputs: Output[], origin?: string): void => {
    this.outputs.splice(start, end - start, ...outputs);
    if (origin !== "silent-change") this.draws.push(outputs);
  };
}

/** JupyterLab's document of these cells; `save` writes the file as it does, and leaves time for what `meanwhile` does. */
class Document {
  path = "folder/case.ipynb";
  collaborative = false;
  #listeners = new Set<(sender: unknown, state: string) => void>();
  constructor(readonly cells: Cell[]) {}
  get model() {
    return { sharedModel: { cells: this.cells }, collaborative: this.collaborative, cells: [] };
  }
  saveState = {
    connect: (one: (sender: unknown, state: string) => void): void => void this.#listeners.add(one),
    disconnect: (one: (sender: unknown, state: string) => void): void => void this.#listeners.delete(one),
  };
  #emit = (state: string): void => {
    for (const one of this.#listeners) one(this, state);
  };
  save(end = "completed", meanwhile = (): void => {}): Output[][] {
    this.#emit("started");
    const written = this.cells.map((cell) => cell.getOutputs());
    meanwhile();
    this.#emit(end);
    return written;
  }
}

function opened(...cells: Cell[]): { kernel: Kernel & { widget_manager?: unknown }; context: Document } {
  const kernel: Kernel & { widget_manager?: unknown } = new Kernel(undefined, "turn");
  const context = new Document(cells);
  Object.assign(kernel.traits, { place: "w", cell: "c1" });
  kernel.widget_manager = { context, kernel: { clientId: "client" } };
  return { kernel, context };
}

const view = (): Output => ({ data: { [VIEW]: { model_id: "w" }, "text/plain": "a turn" }, metadata: {} });

let life: AbortController;
beforeEach(() => {
  life = new AbortController();
});
afterEach(() => life.abort());

test.each(["completed", "failed"])(
  "a save that %s has the text so far, and the page keeps its view",
  (end) => {
    const cell = new Cell("c1", [{ name: "stdout" }, view()]);
    const { kernel, context } = opened(cell);
    connectTurn(kernel, life.signal);
    kernel.tell({ v: 1, kind: "form", data: FORM });

    const [written] = context.save(end);

    expect(written).toMatchObject([{ name: "stdout" }, { data: FORM }]);
    expect(written?.[1]?.data).not.toHaveProperty([VIEW]);
    expect(cell.outputs).toEqual([{ name: "stdout" }, view()]);
    expect(cell.draws).toEqual([]);
  },
);

test("the latest text is saved, and before the first one the words of the output", () => {
  const cell = new Cell("c1", [view()]);
  const { kernel, context } = opened(cell);
  connectTurn(kernel, life.signal);

  const [early] = context.save();
  for (const text of ["one", "two"]) kernel.tell({ v: 1, kind: "form", data: { "text/plain": text } });
  const [late] = context.save();

  expect([early, late].map((outputs) => outputs?.[0]?.data)).toEqual([
    { "text/plain": "a turn" },
    { "text/plain": "two" },
  ]);
});

test("an end that comes while the file is written stays, and a cell that moves keeps its view", () => {
  const [cell, moved] = [new Cell("c1", [view()]), new Cell("c1", [view()])];
  const [first, second] = [opened(cell), opened(moved)];
  for (const { kernel } of [first, second]) {
    connectTurn(kernel, life.signal);
    kernel.tell({ v: 1, kind: "form", data: FORM });
  }
  const end = { data: { "text/plain": "the whole turn" } };

  first.context.save("completed", () => cell.updateOutputs(0, 1, [end]));
  second.context.save("completed", () => {
    second.context.cells[0] = new Cell("c1", moved.getOutputs());
  });

  expect(cell.outputs).toEqual([end]);
  expect(second.context.cells[0]?.outputs).toEqual([view()]);
});

test.each<[string, (cell: Cell, context: Document) => void]>([
  [
    "the server writes what pages share",
    (_, context) => void Object.assign(context, { collaborative: true }),
  ],
  ["JupyterLab draws every change", (cell) => void Object.assign(cell, { appendStreamOutput: undefined })],
])("nothing is put into a notebook where %s", (_, change) => {
  const cell = new Cell("c1", [view()]);
  const { kernel, context } = opened(cell);
  change(cell, context);
  connectTurn(kernel, life.signal);
  kernel.tell({ v: 1, kind: "form", data: FORM });

  expect(context.save()).toEqual([[view()]]);
});

test("a page that is loaded while the turn runs has its view in the place of what was saved, beside other outputs", () => {
  const cell = new Cell("c1", [view(), { name: "stdout" }]);
  const { kernel, context } = opened(cell);
  connectTurn(kernel, life.signal);
  kernel.tell({ v: 1, kind: "form", data: FORM });
  const saved = context.save()[0] ?? [];
  const loaded = new Cell("c1", saved);
  const again = opened(loaded);

  restoreOutput(again.kernel);

  expect(loaded.outputs).toMatchObject([{ data: { [VIEW]: { model_id: "w" } } }, { name: "stdout" }]);
});

test("a greeting names the notebook of a page that writes its file, and none elsewhere", () => {
  const { kernel } = opened();
  connectTurn(kernel, life.signal).sendPresence();

  expect(kernel.of("present")).toMatchObject([{ notebook: "folder/case.ipynb", session: "client" }]);
  expect(describePage(new Kernel())).toEqual({});
});

test("a turn that no output of the notebook shows is saved under its cell, until it has ended", () => {
  const [cell, other] = [new Cell("c1", [{ name: "stdout" }]), new Cell("c2")];
  const { kernel, context } = opened(other, cell);
  connectTurn(kernel, life.signal);
  kernel.tell({ v: 1, kind: "form", data: FORM });

  const [, running] = context.save();
  kernel.patches({ op: "head", set: { status: "completed" } });
  const [, ended] = context.save();

  expect(running).toMatchObject([{ name: "stdout" }, { data: FORM }]);
  expect(ended).toEqual([{ name: "stdout" }]);
  expect([cell.outputs, other.outputs, cell.draws]).toEqual([[{ name: "stdout" }], [], []]);
});

test("after the end of the view nothing listens for saves", () => {
  const cell = new Cell("c1", [view()]);
  const { kernel, context } = opened(cell);
  connectTurn(kernel, life.signal);
  kernel.tell({ v: 1, kind: "form", data: FORM });
  life.abort();

  expect(context.save()).toEqual([[view()]]);
});
