import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Document } from "../src/protocol";
import { Kernel, shown, start } from "./page";

/** Show a running turn to which texts can be added. */
async function running(head: Partial<Document["head"]> = {}) {
  const kernel = new Kernel({
    ...start(),
    head: { ...start().head, adds: true, prompt_line: "%%chat", ...head },
  });
  const page = shown(kernel);
  await vi.advanceTimersByTimeAsync(5);
  const box = (): HTMLTextAreaElement | null => page.el.querySelector(".nb-add-text textarea");
  const type = async (text: string, keys: KeyboardEventInit = {}): Promise<void> => {
    const area = box() as HTMLTextAreaElement;
    area.value = text;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    await vi.advanceTimersByTimeAsync(5);
    area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, ...keys }));
    await vi.advanceTimersByTimeAsync(5);
  };
  const answer = async (ok: boolean, text = ""): Promise<void> => {
    kernel.tell({ v: 1, kind: "added", id: String(kernel.of("add").at(-1)?.id), ok, text });
    await vi.advanceTimersByTimeAsync(5);
  };
  const status = (): string => page.el.querySelector(".nb-add-text [role=status]")?.textContent ?? "";
  return { ...page, kernel, box, type, answer, status };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("Enter adds a text to the turn, and the box says what is known of it until it has joined", async () => {
  const { kernel, box, type, answer, status, close } = await running();

  await type("  Only the first three.  ");
  expect(kernel.of("add").map(({ text }) => text)).toEqual(["Only the first three."]);
  expect([box()?.value, status()]).toEqual(["", ""]);

  await answer(true);
  expect(status()).toBe("Added: the model gets it with its next request.");

  kernel.patches({
    op: "open",
    block: { id: "n0", kind: "notice", text: "You added: Only the first three.", level: "info", added: true },
  });
  await vi.advanceTimersByTimeAsync(50);
  expect(status()).toBe("");
  close();
});

test("a text that the kernel refuses is in the box again, before what was typed since", async () => {
  const { box, type, answer, status, close } = await running();
  await type("First.");
  const area = box() as HTMLTextAreaElement;
  area.value = "Second.";
  area.dispatchEvent(new Event("input", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(5);

  await answer(false, "The turn has ended.");

  expect([box()?.value, status()]).toEqual(["First.\nSecond.", "The turn has ended."]);
  close();
});

test("an empty text, and Enter of an input method, send nothing", async () => {
  const { kernel, type, close } = await running();

  await type("  ");
  await type("ka", { isComposing: true });
  await type("ka", { shiftKey: true });

  expect(kernel.of("add")).toEqual([]);
  close();
});

test("where the page has no notebook, nothing becomes the next prompt, and what was typed stays", async () => {
  const { el, kernel, box, type, close } = await running();
  expect([...el.querySelectorAll(".nb-add-text button")].map((one) => one.textContent)).toEqual(["Add"]);

  await type("And then?", { altKey: true });

  expect(kernel.of("add")).toEqual([]);
  expect(box()?.value).toBe("And then?");
  close();
});

test.each([{ status: "completed" as const }, { adds: false }, { status: "parked" as const }])(
  "there is no box under a turn that takes nothing: %j",
  async (head) => {
    const { box, close } = await running(head);

    expect(box()).toBeNull();
    close();
  },
);
