import { beforeEach, expect, test } from "vitest";
import { answerRequest, type CellSession, startSession } from "../src/notebook/cellRequests";
import type { NotebookModel, Output } from "../src/notebook/notebookModel";
import type { CallBlock } from "../src/protocol";
import { cellOf } from "../src/rich/log/CellLink";

/** A cell as JupyterLab's shared model has it. */
class Cell {
  outputs: Output[] = [];
  execution_count: number | null = 7;
  metadata: Record<string, unknown> = {};
  constructor(
    readonly id: string,
    public source = "",
    readonly cell_type = "code",
  ) {}
  getSource = (): string => this.source;
  setSource = (source: string): void => {
    this.source = source;
  };
  updateSource = (start: number, end: number, text: string): void => {
    for (const part of [text, this.source.slice(0, start), this.source.slice(end)])
      expect(part).not.toMatch(/\p{Surrogate}/u);
    this.source = this.source.slice(0, start) + text + this.source.slice(end);
  };
  setOutputs = (outputs: object[]): void => {
    this.outputs = outputs as Output[];
  };
  getMetadata = (key: string): unknown => this.metadata[key];
  toJSON = (): Record<string, unknown> => ({
    id: this.id,
    cell_type: this.cell_type,
    source: this.source,
    metadata: this.metadata,
    outputs: this.outputs,
    execution_count: this.execution_count,
  });
}

function opened(
  ...cells: Cell[]
): NotebookModel & { shared: Cell[]; trust: { id: string; trusted: boolean }[] } {
  const trust = cells.map(({ id }) => ({ id, trusted: false }));
  const sharedModel = {
    cells,
    insertCell: (at: number, one: { id?: string; cell_type: string; source: string }) =>
      cells.splice(at, 0, new Cell(String(one.id), one.source, one.cell_type)),
    deleteCell: (at: number) => void cells.splice(at, 1),
    moveCell: (from: number, to: number) => void cells.splice(to, 0, ...cells.splice(from, 1)),
  };
  return { sharedModel, cells: trust, shared: cells, trust };
}

let notebook: ReturnType<typeof opened>;
let session: CellSession;
beforeEach(() => {
  notebook = opened(
    new Cell("a", "x = 1\ny = 2"),
    new Cell("b", "# B", "markdown"),
    new Cell("chat", "%%chat"),
  );
  session = startSession("chat");
});

const ask = (request: object) => answerRequest(notebook, session, request);
const ids = (): string[] => notebook.shared.map(({ id }) => id);

test("cells are read with bounded outputs, of an error the end", () => {
  const [a] = notebook.shared as [Cell, Cell, Cell];
  a.outputs = [
    { output_type: "stream", text: ["long ", "text"] },
    { output_type: "error", traceback: ["first", "last"] },
    { output_type: "display_data", data: { "image/png": "…", "text/plain": "<Figure>" } },
  ];

  expect(ask({ op: "cells", output: 4 })).toMatchObject({
    kind: "cells",
    more: 0,
    cells: [
      {
        id: "a",
        type: "code",
        number: 7,
        length: 11,
        outputs: [
          { kind: "text", text: "long", length: 9 },
          { kind: "error", text: "last", length: 10 },
          { kind: "media", text: "imag" },
        ],
      },
      { id: "b", type: "markdown", outputs: [] },
      { id: "chat" },
    ],
  });
});

test("a source is changed only if it is the one that was shown", () => {
  expect(ask({ op: "edit", cell: "a", expected: "x = 1", source: "z" })).toEqual({
    kind: "refused",
    reason: "changed",
  });
  expect(notebook.shared[0]?.source).toBe("x = 1\ny = 2");
  expect(ask({ op: "edit", cell: "a", expected: "x = 1\ny = 2", source: "x = 1\ny = 3" })).toMatchObject({
    kind: "done",
  });
  expect(notebook.shared[0]?.source).toBe("x = 1\ny = 3");
});

test.each([
  ["", ""],
  ["a", ""],
  ["", "a"],
  ["aaa", "aa"],
  ["aa", "aaa"],
  ["abcabc", "abc"],
  ["x\ny\nz", "x\nq\nz"],
  ["🙂x", "🙃x"],
  ["x🙂", "x🙃"],
  ["a🙂b", "a🚂b"],
  ["a🙂", "a🙂🙂"],
])("the change of %j to %j replaces only what differs", (former, next) => {
  notebook = opened(new Cell("a", former));

  ask({ op: "edit", cell: "a", expected: former, source: next });

  expect(notebook.shared[0]?.source).toBe(next);
});

test.each(["delete", "start", "move"])("%s is refused where the cell was edited since", (op) => {
  const request = { op, cell: "a", expected: "something else", after: "b", expected_after: "" };

  expect(ask(request)).toEqual({ kind: "refused", reason: "changed" });
  expect(ids()).toEqual(["a", "b", "chat"]);
});

test("cells are inserted, moved and deleted by their ids", () => {
  ask({ op: "insert", cell: "new", after: "a", type: "code", source: "z = 3" });
  expect(ids()).toEqual(["a", "new", "b", "chat"]);
  ask({ op: "move", cell: "a", after: "b", expected: "x = 1\ny = 2", expected_after: "" });
  expect(ids()).toEqual(["new", "b", "a", "chat"]);
  ask({ op: "move", cell: "a", after: "", expected: "x = 1\ny = 2", expected_after: "b" });
  expect(ids()).toEqual(["a", "new", "b", "chat"]);
  expect(ask({ op: "delete", cell: "new", expected: "z = 3" })).toMatchObject({
    kind: "done",
    after: "a",
    raw: { source: "z = 3" },
  });
  expect(ids()).toEqual(["a", "b", "chat"]);
});

test("a cell that was moved since is not moved", () => {
  const request = { op: "move", cell: "b", after: "", expected: "# B", expected_after: "" };

  expect(ask(request)).toEqual({ kind: "refused", reason: "changed" });
});

test("the running cell is not changed, and protected cells are not either", () => {
  expect(ask({ op: "edit", cell: "chat", expected: "%%chat", source: "" })).toEqual({
    kind: "refused",
    reason: "unsupported",
  });
  (notebook.shared[0] as Cell).metadata = { editable: false, deletable: false };
  const expected = "x = 1\ny = 2";
  expect(ask({ op: "edit", cell: "a", expected, source: "" })).toMatchObject({ kind: "refused" });
  expect(ask({ op: "delete", cell: "a", expected })).toMatchObject({ kind: "refused" });
  expect(ids()).toEqual(["a", "b", "chat"]);
});

test("outputs are set once, and only of a cell that was started", () => {
  const outputs = [{ output_type: "stream", name: "stdout", text: "hello" }];
  expect(ask({ op: "outputs", cell: "a", outputs })).toMatchObject({ kind: "refused" });
  expect(ask({ op: "start", cell: "a", expected: "x = 1\ny = 2" })).toMatchObject({ kind: "done" });
  expect(ask({ op: "outputs", cell: "a", outputs })).toMatchObject({ kind: "done" });
  expect(ask({ op: "outputs", cell: "a", outputs: [] })).toMatchObject({ kind: "refused" });
  expect(notebook.shared[0]?.outputs).toEqual(outputs);
  expect(notebook.trust.filter(({ trusted }) => trusted).map(({ id }) => id)).toEqual(["a"]);
});

test.each([
  null,
  "edit",
  {},
  { op: "run", cell: "a" },
  { op: "edit", cell: "a", source: "z" },
  { op: "edit", cell: "<b>", expected: "", source: "" },
  { op: "edit", cell: "a", expected: "x = 1\ny = 2", source: 7 },
  { op: "edit", cell: "a", expected: "x = 1\ny = 2", source: "z".repeat(200_001) },
  { op: "insert", cell: "n", after: "a b", type: "code", source: "" },
  { op: "insert", cell: "n", after: "", type: "applet", source: "" },
  { op: "insert", cell: "n", after: "", type: "code", source: "", raw: { onload: "x" } },
  { op: "outputs", cell: "a", outputs: "x" },
  { op: "cells", output: -1 },
])("a request of another form is not answered: %j", (request) => {
  expect(answerRequest(notebook, session, request)).toBeNull();
  expect(ids()).toEqual(["a", "b", "chat"]);
  expect(notebook.shared[0]?.source).toBe("x = 1\ny = 2");
});

test("a page without a notebook, or with one of another version, refuses", () => {
  const refusal = { kind: "refused", reason: "unsupported" };
  expect(answerRequest(undefined, session, { op: "cells", output: 0 })).toEqual(refusal);
  expect(answerRequest({ sharedModel: {} }, session, { op: "cells", output: 0 })).toEqual(refusal);
  expect(
    answerRequest({ sharedModel: { cells: [] } }, session, {
      op: "insert",
      cell: "n",
      after: "",
      type: "code",
      source: "",
    }),
  ).toEqual(refusal);
});

test.each([
  ["edit_cell", '{"cell": "a"}', "", "a"],
  ["insert_cell", '{"after": "b"}', '{"cell": "new", "state": "inserted"}', "new"],
  ["insert_cell", '{"cell": "b"}', "The cell…", undefined],
  ["edit_cell", '{"cell": "<b>"}', "", undefined],
  ["edit_cell", '{"ce', "", undefined],
  ["my_tool", '{"cell": "a"}', "", undefined],
])("the log links a call of %s with %s to its cell", (name, args, result, expected) => {
  expect(cellOf({ name, arguments: args, result } as CallBlock)).toBe(expected);
});
