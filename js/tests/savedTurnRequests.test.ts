import { expect, test, vi } from "vitest";
import { requestFromKernel } from "../src/lab/kernelRequest";
import { canRepeat, chatCellOf, runCell } from "../src/lab/repeat";
import { applyAnswer, requestFor } from "../src/lab/savedTurnRequests";
import type { Comm, Kernel, NotebookPanel, SharedModules } from "../src/lab/types";
import type { Head } from "../src/protocol";
import { TURN_MIME } from "../src/saved/parse";

const head = { turn_id: "t2", version: 2, versions: 2, turns: ["t1", "t2"] } as unknown as Head;
const request = { v: 1, kind: "code", chat: "main", turn: "t2" } as const;

/** A kernel whose comms do what is told when they are opened. */
function kernelWith(onOpen: (comm: Comm, data: object) => void) {
  const closed = vi.fn();
  const comm: Comm = {
    onMsg: undefined,
    onClose: undefined,
    open: (data) => onOpen(comm, data),
    close: closed,
  };
  const createComm = vi.fn(() => comm);
  return { kernel: { createComm } as unknown as Kernel, createComm, closed };
}

test("a request is answered over a comm of its own, which is closed", async () => {
  const answer = { v: 1, ok: true, text: "1 call.", source: "price()" };
  const sent: object[] = [];
  const { kernel, createComm, closed } = kernelWith((comm, data) => {
    sent.push(data);
    comm.onMsg?.({ content: { data: answer } });
  });

  expect(await requestFromKernel(kernel, request)).toEqual(answer);
  expect(sent).toEqual([request]);
  expect(createComm).toHaveBeenCalledWith("nbtool.saved_turn");
  expect(closed).toHaveBeenCalledOnce();
});

test.each([
  ["has not loaded nbtool", kernelWith((comm) => comm.onClose?.()).kernel],
  ["has no comms", {} as Kernel],
  ["answers something else", kernelWith((comm) => comm.onMsg?.({ content: { data: { v: 2 } } })).kernel],
  [
    "answers nothing that is an object",
    kernelWith((comm) => comm.onMsg?.({ content: { data: null } })).kernel,
  ],
  [
    "has its comms with another client",
    kernelWith(() => {
      throw new Error("Comms are disabled");
    }).kernel,
  ],
  ["is gone", null],
])("a kernel that %s gives no answer, so that a cell is written", async (_, kernel) => {
  expect(await requestFromKernel(kernel, request)).toBeNull();
});

test("code and listed versions are requested from the kernel, and the rest is cells", () => {
  expect(requestFor("code", head)).toEqual(request);
  expect(requestFor("version", { ...head, chat: "side" }, 1)).toEqual({
    v: 1,
    kind: "version",
    chat: "side",
    turn: "t2",
    other: "t1",
  });
  for (const version of [0, 3]) expect(requestFor("version", head, version)).toBeUndefined();
  for (const action of ["rerun", "edit", "explore", "bind"] as const)
    expect(requestFor(action, head)).toBeUndefined();
});

/** A notebook with one cell, whose outputs are given. */
function notebookWith(outputs: object[]) {
  const node = document.createElement("div");
  const updateOutputs = vi.fn();
  const insertCell = vi.fn();
  const cell = { getSource: () => "%%chat\nHello", getOutputs: () => outputs, updateOutputs };
  const content = { widgets: [{ node }], model: { sharedModel: { getCell: () => cell, insertCell } } };
  return { node, panel: { content } as unknown as NotebookPanel, updateOutputs, insertCell };
}

test("another version replaces the output of its turn in the notebook, and what is beside it stays", () => {
  const [print, turn, image] = [
    { output_type: "stream" },
    { data: { [TURN_MIME]: { head: { turn_id: "t2" } } } },
    { data: { "image/png": "" } },
  ];
  const notebook = notebookWith([print, turn, image]);
  const data = { [TURN_MIME]: { head: { turn_id: "t1" } }, "text/plain": "" };

  const outcome = applyAnswer(notebook.node, notebook.panel, head, {
    v: 1,
    ok: true,
    text: "Switched to version 1 of 2.",
    data,
  });

  expect(outcome).toEqual({ state: "done", text: "Switched to version 1 of 2." });
  expect(notebook.updateOutputs.mock.calls).toEqual([
    [1, 3, [{ output_type: "display_data", metadata: {}, data }, image]],
  ]);
  expect(notebook.insertCell).not.toHaveBeenCalled();
});

test("the code of an answer is a cell as it is, and a refusal changes nothing", () => {
  const notebook = notebookWith([]);

  const code = applyAnswer(notebook.node, notebook.panel, head, {
    v: 1,
    ok: true,
    text: "1 call.",
    source: "price()",
  });
  const refused = applyAnswer(notebook.node, notebook.panel, head, { v: 1, ok: false, text: "No." });

  expect(code).toMatchObject({
    state: "below",
    text: "price()",
    note: "1 call.",
    placed: { cell: undefined },
  });
  expect(refused).toEqual({ state: "refused", text: "No." });
  expect(notebook.insertCell.mock.calls).toEqual([
    [1, { cell_type: "code", source: "price()", metadata: { trusted: true } }],
  ]);
  expect(notebook.updateOutputs).not.toHaveBeenCalled();
});

/** A notebook with one cell, what runs cells, and a kernel that answers requests. */
function repeatable(source: string, answer: object | null) {
  const node = document.createElement("div");
  const widget = { node };
  const state = { source };
  const cell = {
    id: "c1",
    getSource: () => state.source,
    setSource: (text: string) => {
      state.source = text;
    },
  };
  const { kernel } = kernelWith((comm, data) => {
    asked.push(data);
    if (answer) comm.onMsg?.({ content: { data: { v: 1, ok: true, text: "", ...answer } } });
    else comm.onClose?.();
  });
  const asked: object[] = [];
  const content = {
    widgets: [widget],
    model: { sharedModel: { getCell: () => cell } },
    activeCellIndex: 0,
    mode: "edit",
  };
  const panel = { content, sessionContext: { session: { kernel } } } as unknown as NotebookPanel;
  return { node, panel, asked, state, widget };
}

test.each([
  ["%%chat -t price\nWhich is cheapest?", "Which is cheapest?"],
  ["# a comment\n\n%%nbchat\nHello", "Hello"],
  ["%%chat\n\n", undefined],
  ["%%chat", undefined],
  ["%%bash\nrm -rf ~", undefined],
  ["import os\n%%chat\nHello", undefined],
  ["print(1)", undefined],
])("of %j the prompt that may be sent again is %j", (source, prompt) => {
  const { node, panel } = repeatable(source, null);

  expect(chatCellOf(node, panel)?.prompt).toBe(prompt);
});

test.each([
  [{ in_place: true }, true],
  [{ in_place: false }, false],
  [{ ok: false, in_place: true }, false],
  [{}, false],
  [null, false],
])("a kernel that answers %j decides whether its own cell repeats a turn", async (answer, inPlace) => {
  const { node, panel, asked } = repeatable("%%chat\nHello", answer);
  const own = chatCellOf(node, panel);

  expect(own && (await canRepeat(own, head))).toMatchObject({ inPlace });
  expect(asked).toEqual([{ v: 1, kind: "repeat", chat: "main", turn: "t2", cell: "c1", typed: "Hello" }]);
});

test("a cell is run by JupyterLab's own action, and not where there is none", () => {
  const { panel, widget } = repeatable("%%chat\nHello", null);
  const runCells = vi.fn(async () => true);

  expect(runCell({ NotebookActions: { runCells } } as unknown as SharedModules, panel, widget)).toBe(true);
  expect(runCells).toHaveBeenCalledWith(panel.content, [widget], panel.sessionContext);
  expect(runCell({} as SharedModules, panel, widget)).toBe(false);
});
