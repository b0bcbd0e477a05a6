import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connectTurn } from "../src/kernel/turn";
import { replaceOutputs, restoreOutput, showAgain } from "../src/notebook/restore";
import { Kernel, start } from "./page";

const VIEW = "application/vnd.jupyter.widget-view+json";
const TURN = "application/vnd.nbtool.turn+json";

type Output = { data?: Record<string, unknown>; name?: string };

/** A cell as JupyterLab's shared model has it; `drawn` is what its view makes of each change: what comes is put last. */
class Cell {
  drawn: Output[];
  constructor(
    readonly id: string,
    public outputs: Output[] = [],
  ) {
    this.drawn = [...outputs];
  }
  getOutputs = (): Output[] => this.outputs;
  setOutputs = (outputs: Output[]): void => {
    this.outputs = outputs;
  };
  updateOutputs = (start: number, end: number, outputs: Output[]): void => {
    this.outputs.splice(start, end - start, ...outputs);
    this.drawn.splice(start, end - start);
    this.drawn.push(...outputs);
  };
}

function opened(...cells: Cell[]): Kernel & { widget_manager?: unknown } {
  const kernel: Kernel & { widget_manager?: unknown } = new Kernel(undefined, "turn");
  Object.assign(kernel.traits, { place: "w", cell: "c1", seen: true });
  const trust = cells.map(({ id }) => ({ id, trusted: false }));
  kernel.widget_manager = { context: { model: { sharedModel: { cells }, cells: trust } } };
  return kernel;
}

const view = (id: string): Output => ({ data: { [VIEW]: { model_id: id } } });
const plain = (text: string | string[]): Output => ({ data: { "text/plain": text } });

let life: AbortController;
beforeEach(() => {
  vi.useFakeTimers();
  life = new AbortController();
});
afterEach(() => {
  life.abort();
  vi.useRealTimers();
});

test("a view that the notebook does not show is restored only under its cell", () => {
  const [one, other] = [new Cell("c1", [plain("of an earlier run")]), new Cell("c2", [plain("other")])];

  restoreOutput(opened(one, other));

  expect(one.outputs).toMatchObject([view("w")]);
  expect(other.outputs).toEqual([plain("other")]);
});

test.each([
  ["shows it", [view("w")]],
  ["keeps the finished turn", [{ data: { [TURN]: { head: { turn_id: "turn" } } } }]],
])("nothing is restored under a cell that %s", (_, outputs) => {
  const cell = new Cell("c1", outputs);

  restoreOutput(opened(cell));

  expect(cell.outputs).toBe(outputs);
});

test("final outputs replace the former ones, and one without a former output is inserted before the next", () => {
  const cell = new Cell("c1", [plain(["so far,\n", "and a note"]), { name: "stdout" }, view("w")]);
  const moved = new Cell("c1", [view("w")]);
  const places = [
    { was: "so far,\nand a note", data: { whole: 1 } },
    { was: "w", data: { note: 1 } },
  ];

  replaceOutputs(opened(cell), places);
  replaceOutputs(opened(moved), places);

  expect(cell.outputs.map(({ data }) => data)).toEqual([{ whole: 1 }, undefined, { note: 1 }]);
  expect(moved.outputs.map(({ data }) => data)).toEqual([{ whole: 1 }, { note: 1 }]);
  expect([cell.drawn, moved.drawn]).toEqual([cell.outputs, moved.outputs]);
});

test("a reloaded page inserts the final outputs when it is its turn, and reports it", () => {
  const cell = new Cell("c1", [view("w")]);
  const kernel = opened(cell);
  connectTurn(kernel, life.signal);
  vi.advanceTimersByTime(1600);
  const page = String(kernel.of("hello")[0]?.id).split("-")[0] ?? "";

  kernel.tell({ v: 1, kind: "left", pages: ["newer", page], places: [{ was: "w", data: { whole: 1 } }] });
  vi.advanceTimersByTime(1600);
  const early = [...cell.outputs];
  vi.advanceTimersByTime(1600);

  expect(early).toEqual([view("w")]);
  expect(cell.outputs).toMatchObject([{ data: { whole: 1 } }]);
  expect(kernel.of("took")).toHaveLength(1);
});

test("a reloaded page that has not sent hello when the turn ends sends it then, and inserts the final outputs", () => {
  const cell = new Cell("c1", [view("w")]);
  const kernel = opened(cell);
  connectTurn(kernel, life.signal);
  kernel.tell({ v: 1, kind: "snapshot", seq: 1, document: start() });

  kernel.tell({ v: 1, kind: "left", pages: ["first"], places: [] });
  const page = String(kernel.of("hello")[0]?.id).split("-")[0] ?? "";
  kernel.tell({ v: 1, kind: "left", pages: [page, "first"], places: [{ was: "w", data: { whole: 1 } }] });
  vi.advanceTimersByTime(1600);

  expect(cell.outputs).toMatchObject([{ data: { whole: 1 } }]);
  expect([kernel.of("hello").length, kernel.of("took").length]).toEqual([1, 1]);
});

test("a page without a notebook records a replacement only if it saw the turn start", () => {
  const [first, anew] = [new Kernel(), new Kernel()];
  anew.traits.seen = true;
  for (const kernel of [first, anew]) {
    connectTurn(kernel, life.signal);
    kernel.tell({ v: 1, kind: "left", pages: [], places: [] });
  }

  vi.advanceTimersByTime(100);

  expect([first.of("took").length, anew.of("took").length]).toEqual([1, 0]);
});

test("the card of a parked turn whose output was cleared is shown again in its cell, beside what else is there", () => {
  const [cleared, shown] = [new Cell("c1", [{ name: "stdout" }]), new Cell("c1", [view("w")])];

  showAgain(opened(cleared));
  showAgain(opened(new Cell("other")));
  showAgain(opened(shown));

  expect(cleared.outputs).toMatchObject([{ name: "stdout" }, view("w")]);
  expect(shown.outputs).toEqual([view("w")]);
});

test.each<[string, boolean, number]>([
  ["that has no view any more", true, 1],
  ["that was drawn again meanwhile", false, 0],
])("a parked turn %s", (_, isGone, count) => {
  const cell = new Cell("c1");
  const document = start();
  const kernel = opened(cell);
  kernel.traits.snapshot = { ...document, head: { ...document.head, status: "parked" } };
  kernel.traits.seen = false;

  connectTurn(kernel, life.signal).sendGone(() => isGone);
  vi.advanceTimersByTime(1600);

  expect(cell.outputs).toHaveLength(count);
  expect(kernel.of("gone")).toHaveLength(1); // so that the kernel has this page put the end there
});
