import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { CallBlock } from "../src/protocol";
import { Kernel, shown, start } from "./page";

function call(id: string, state: CallBlock["state"]): CallBlock {
  return {
    id,
    kind: "call",
    call_id: `call_${id}`,
    name: `tool_${id}`,
    arguments: "{}",
    round: 1,
    state,
    resolved: {},
    repaired: [],
    question: null,
    decisions: [],
    progress: state === "running" ? "step 1\nstep 2\n" : "",
    fraction: state === "running" ? 0.5 : null,
    result: "",
    reference: "",
    reason: "",
    started: 1,
    seconds: null,
    more: {},
  } as unknown as CallBlock;
}

/** Show a running turn with two running calls and one that has ended. */
async function running(status: "running" | "completed" = "running") {
  const blocks = [call("1", "running"), call("2", "running"), call("3", "ok")];
  const kernel = new Kernel({ ...start(), head: { ...start().head, status }, blocks });
  const page = shown(kernel);
  await vi.advanceTimersByTimeAsync(5);
  const buttons = (): HTMLButtonElement[] => [
    ...page.el.querySelectorAll<HTMLButtonElement>(".nb-block-item > div > .nb-stop-call"),
  ];
  return { ...page, kernel, buttons };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("each running call has a button that stops it alone, and says what it does", async () => {
  const { el, kernel, buttons, close } = await running();

  expect(buttons().map((one) => [one.getAttribute("aria-label"), one.title])).toEqual([
    ["Stop tool_1", "Stop this call; the turn goes on"],
    ["Stop tool_2", "Stop this call; the turn goes on"],
  ]);
  buttons()[1]?.click();
  await vi.advanceTimersByTimeAsync(5);

  expect(kernel.of("stop_call").map((one) => one.call_id)).toEqual(["call_2"]);
  expect(kernel.of("stop")).toEqual([]);
  expect(buttons().map((one) => [one.disabled, one.getAttribute("aria-label")])).toEqual([
    [false, "Stop tool_1"],
    [true, "Stopping tool_2"],
  ]);
  expect(el.querySelector("details[open]")).toBeNull();
  close();
});

test("a stop that the kernel does not confirm says which button helps", async () => {
  const { el, buttons, close } = await running();

  buttons()[0]?.click();
  await vi.advanceTimersByTimeAsync(2100);

  expect(el.querySelector("[role=alert]")?.textContent).toContain(
    "Use the notebook's interrupt button instead.",
  );
  expect(buttons()[0]?.disabled).toBe(false);
  close();
});

test("in a turn that has ended no call can be stopped", async () => {
  const { buttons, close } = await running("completed");

  expect(buttons()).toEqual([]);
  close();
});

test("the last words of a call with a progress bar are on its row and in the bar's tooltip", async () => {
  const { el, close } = await running();
  const bar = el.querySelector("progress");

  expect(el.querySelector(".nb-first-line")?.textContent).toBe("step 2");
  expect(bar?.getAttribute("aria-label")).toBe("step 2");
  expect(el.querySelector(".nb-facts")?.textContent).toContain("50 %");
  close();
});
