import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Kernel, shown, start } from "./page";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  document.getElementById("nbtool-announcements")?.remove();
  vi.useRealTimers();
});

function page(): { kernel: Kernel; heard: () => string; close: () => void } {
  const kernel = new Kernel();
  const { close } = shown(kernel);
  const block = { id: "b0", kind: "text", text: "", refusal: false, state: "open", more: {} } as const;
  kernel.patches({ op: "open", block });
  return { kernel, close, heard: () => document.querySelector('[role="log"]')?.textContent ?? "" };
}

async function said(kernel: Kernel, text: string): Promise<void> {
  kernel.patches({ op: "extend", id: "b0", field: "text", text });
  await vi.advanceTimersByTimeAsync(2_000);
}

test("whole sentences are announced once, without Markdown marks", async () => {
  const { kernel, heard, close } = page();

  await said(kernel, "It is *so*. And the next");
  const first = heard();
  await said(kernel, " one too. Half");

  expect(first).toBe("It is so. ");
  expect(heard()).toBe("And the next one too. ");
  close();
});

test("names keep their underscores, and emphasis has none", async () => {
  const { kernel, heard, close } = page();

  await said(kernel, "It is _so_: `_price_of` and my_tool_, then _fetch and `__init__` ran. ");

  expect(heard()).toBe("It is so: _price_of and my_tool_, then _fetch and __init__ ran. ");
  close();
});

test("an unfinished sentence is announced when the reply is complete", async () => {
  const { kernel, heard, close } = page();
  await said(kernel, "No end");

  kernel.patches({ op: "update", id: "b0", set: { state: "whole" } });
  await vi.advanceTimersByTimeAsync(2_000);

  expect(heard()).toBe("No end");
  close();
});

test("of a long text the start is announced, and then what follows later", async () => {
  const { kernel, heard, close } = page();

  await said(kernel, "A sentence. ".repeat(10_000));
  const flood = heard();
  await said(kernel, "The last one. ");

  expect(flood.length).toBeLessThan(700);
  expect(heard()).toBe("The last one. ");
  close();
});

test("what is left is announced at once when the turn ends, and stays for the screen reader when its view goes", async () => {
  const { kernel, heard, close } = page();
  await said(kernel, "The first. ");

  kernel.patches({ op: "extend", id: "b0", field: "text", text: "And the last" });
  kernel.patches(
    { op: "update", id: "b0", set: { state: "whole" } },
    { op: "head", set: { status: "completed" } },
  );
  await vi.advanceTimersByTimeAsync(20);
  close();

  expect(heard()).toBe("And the last The turn is complete.");
});

test("a turn that had ended before it was shown announces nothing", async () => {
  const document_ = start();
  const kernel = new Kernel({ ...document_, head: { ...document_.head, status: "completed" } });
  const { close } = shown(kernel);
  const block = { id: "b0", kind: "text", text: "", refusal: false, state: "open", more: {} } as const;
  kernel.patches({ op: "open", block });
  await said(kernel, "Late. ");

  expect(document.querySelector('[role="log"]')).toBeNull();
  close();
});
