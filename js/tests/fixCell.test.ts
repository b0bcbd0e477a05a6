import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type CellRunner, setCellRunner } from "../src/kernel/pageServices";
import { Kernel, shown, start } from "./page";

const FAILED = { id: "c1", source: "print(x)" };

/** A finished turn about a failed cell whose reply is a text, and what its page can do. */
async function fix(text: string, runner: Partial<CellRunner> = {}) {
  const replaceAndRun = vi.fn(() => true);
  setCellRunner({ runCell: () => true, findFailed: () => FAILED, replaceAndRun, ...runner });
  const first = start();
  const block = { id: "b", kind: "text", text, refusal: false, state: "whole", more: {} } as const;
  const head = { ...first.head, status: "completed", fixes: 3 } as const;
  const page = shown(new Kernel({ ...first, head, blocks: [block] }));
  await vi.advanceTimersByTimeAsync(50);
  const section = (): HTMLElement | null => page.el.querySelector(".nb-fix");
  const press = async (name: string): Promise<void> => {
    [...(section()?.querySelectorAll("button") ?? [])].find((one) => one.textContent === name)?.click();
    await vi.advanceTimersByTimeAsync(10);
  };
  return { ...page, section, press, replaceAndRun };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  setCellRunner(undefined);
});

test("the last block of code replaces the cell, once the button takes clicks", async () => {
  const { section, press, replaceAndRun, close } = await fix(
    "First\n```py\nprint(0)\n```\nbetter\n```python\nprint(1)\n```\n",
  );

  await press("Replace and run");
  const early = [replaceAndRun.mock.calls.length, section()?.textContent];
  await vi.advanceTimersByTimeAsync(600);
  await press("Replace and run");

  expect(early).toEqual([0, expect.stringContaining("Not taken")]);
  expect(replaceAndRun.mock.calls.map((call) => (call as unknown[]).slice(1))).toEqual([
    [FAILED, "print(1)"],
  ]);
  expect(section()?.textContent).toContain("Replaced, and run.");
  close();
});

test("what hides in the code is an escape, in the comparison and in the cell", async () => {
  const { section, press, replaceAndRun, close } = await fix("```python\nprint(1)\u202e # x\n```");
  await vi.advanceTimersByTimeAsync(600);
  await press("Replace and run");

  expect(section()?.textContent).not.toContain("\u202e");
  expect((replaceAndRun.mock.calls[0] as unknown[])[2]).toBe("print(1)\\u{202e} # x");
  close();
});

test.each([
  ["a cell that is gone", "```python\nprint(1)\n```", { findFailed: () => undefined }],
  ["a reply without code", "No code.", {}],
  ["code of another language", "```bash\nrm -rf ~\n```", {}],
  ["the same code", "```python\nprint(x)\n```", {}],
])("nothing is offered for %s", async (_, text, runner) => {
  const { section, close } = await fix(text, runner);

  expect(section()?.querySelectorAll("button")).toHaveLength(0);
  close();
});
