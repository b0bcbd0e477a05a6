import { expect, test, vi } from "vitest";
import { setCellLink } from "../src/kernel/pageServices";
import type { Cell, NotebookModel } from "../src/notebook/notebookModel";
import type { ProseBlock } from "../src/protocol";
import { dangers, drawn, Kernel, shown, start } from "./page";

function prose(text: string, state: ProseBlock["state"] = "whole"): ProseBlock {
  return { id: "1", kind: "text", text, refusal: false, state, more: {} };
}

/** Show a turn that answers with a text, in a notebook with one cell. */
async function reply(text: string, { state = "whole" as ProseBlock["state"], notebook = true } = {}) {
  const kernel = new Kernel({ ...start(), blocks: [prose(text, state)] });
  const put = vi.fn();
  const view = { "application/vnd.jupyter.widget-view+json": { model_id: "place" } };
  const cells: Cell[] = [{ outputs: [{ data: view }] }];
  const model: NotebookModel = { sharedModel: { cells, insertCell: put } };
  if (notebook) Object.assign(kernel, { widget_manager: { context: { model } } });
  kernel.traits.place = "place";
  const page = shown(kernel);
  await drawn();
  const buttons = (): HTMLButtonElement[] => [
    ...page.el.querySelectorAll<HTMLButtonElement>("[aria-label='Insert as cell']"),
  ];
  return { ...page, kernel, put, buttons, cells };
}

test("a code block is inserted below as text, and the page says that it has not run", async () => {
  const { el, kernel, put, buttons, close } = await reply("Try:\n\n```python\nprint(1)\nprint(2)\n```\n");

  buttons()[0]?.click();
  await drawn();

  expect(put.mock.calls).toEqual([[1, { cell_type: "code", source: "print(1)\nprint(2)" }]]);
  expect(el.querySelector(".nb-inserted-cell")?.textContent).toContain(
    "Added as a new cell below. Review, then run it.",
  );
  expect(kernel.of("act")).toEqual([]);
  close();
});

test.each([
  ["```\nx = 1\n```", 1],
  ["```py\nx = 1\n```", 1],
  ["```ipython3\nx = 1\n```", 1],
  ["```bash\nrm -rf x\n```", 0],
  ["```json\n{}\n```", 0],
  ["`x = 1`", 0],
])("of %j as many are offered as fit into a cell of Python: %i", async (text, count) => {
  const { buttons, close } = await reply(text);

  expect(buttons()).toHaveLength(count);
  close();
});

test("a block that is still written, or whose page has no notebook, is not offered", async () => {
  const open = await reply("```python\nprint(1", { state: "open" });
  const elsewhere = await reply("```python\nprint(1)\n```", { notebook: false });

  expect(open.buttons()).toHaveLength(0);
  expect(elsewhere.buttons()).toHaveLength(0);
  open.close();
  elsewhere.close();
});

test("what hides in a code is visible in the cell, and the page says so; markup stays text", async () => {
  const code = 'x = "<img src=x onerror=alert(1)>"  # \u202e hidden \u200b';
  const { el, put, buttons, close } = await reply(`\`\`\`python\n${code}\n\`\`\``);

  buttons()[0]?.click();
  await drawn();

  const [, cell] = put.mock.calls[0] as [number, { source: string }];
  expect(cell.source).toBe('x = "<img src=x onerror=alert(1)>"  # \\u{202e} hidden \\u{200b}');
  expect(el.querySelector(".nb-inserted-cell")?.textContent).toContain("are written as escapes");
  expect(dangers(el)).toEqual([]);
  close();
});

test("the new cell is selected, and the notice about it goes when the cell has run or is deleted", async () => {
  const shownCells: unknown[] = [];
  setCellLink((_, id) => shownCells.push(id) > 0);
  for (const end of [
    (cell: Cell) => Object.assign(cell, { executionState: "running" }),
    (_: Cell, cells: Cell[]) => cells.splice(1, 1),
  ]) {
    const listeners = new Set<() => void>();
    const changed = {
      connect: (listener: () => void) => void listeners.add(listener),
      disconnect: (listener: () => void) => void listeners.delete(listener),
    };
    const { el, put, buttons, cells, close } = await reply("```python\nprint(1)\n```");
    const cell: Cell = { id: "new", execution_count: null, changed };
    put.mockImplementation((at: number) => cells.splice(at, 0, cell));
    buttons()[0]?.click();
    await drawn();
    expect(el.querySelector(".nb-inserted-cell")).not.toBeNull();

    end(cell, cells);
    for (const listener of listeners) listener();
    await drawn();

    expect(el.querySelector(".nb-inserted-cell")).toBeNull();
    expect(listeners.size).toBe(0);
    close();
  }
  expect(shownCells).toEqual(["new", "new"]);
});
