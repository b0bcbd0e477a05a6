import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setModule } from "../../src/kernel/lazy";
import type { Document, Patch } from "../../src/protocol";
import lazyModule from "../../src/rich/index";
import { dangers, Kernel, shown } from "../page";
import { reference } from "../resolved";
import { ask, call, Desk } from "./desk";

const folder = `${import.meta.dirname}/../recorded`;
const payloads = JSON.parse(readFileSync(`${folder}/../payloads/own.json`, "utf8")) as string[];
const alert = vi.fn();
let page: { el: HTMLElement; close: () => void };

beforeEach(async () => {
  vi.useFakeTimers();
  vi.stubGlobal("alert", alert);
  (await ask([])).page.close(); // the second module is there, and everything is in view
});
afterEach(() => {
  page.close();
  vi.useRealTimers();
});

/** Replay what a transcript made, patch by patch. */
async function replay(name: string): Promise<string> {
  const { start, patches } = JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8")) as {
    start: Document;
    patches: Patch[];
  };
  setModule("rich", lazyModule);
  const kernel = new Kernel(start);
  page = shown(kernel);
  for (const patch of patches) {
    kernel.patches(patch);
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(1_600);
  return page.el.querySelector(".nb-card")?.textContent ?? "";
}

test("a call that waits", async () => {
  expect(await replay("waiting")).toContain('Run price(ticker="ACME", table=df)?df DataFrame, 250 rows');
  expect(dangers(page.el.querySelector(".nb-card") as Element)).toEqual([]);
});

test("a result that waits", async () => {
  expect(await replay("result_gate")).toContain(
    'Send the result of price(ticker="ACME", table=df) to the model (33 characters)?',
  );
});

test("three calls at once, of which one was decided elsewhere and one is decided by itself", async () => {
  const text = await replay("round");

  expect(text).toContain("2 calls wait for you");
  expect(text).toContain("run_python is decided by itself");
  expect(text).toContain(": The call was denied by %chat: one is enough.");
  expect(text).toContain("df DataFrame, 250 rows by 3 columns");
  expect(page.el.querySelectorAll(".nb-item")).toHaveLength(2);
});

test.each(["running", "streaming", "finished", "cancelled", "error"])("%s: no card", async (name) => {
  expect(await replay(name)).toBe("");
});

test.each(payloads)("%j in a question is nothing but text", async (payload) => {
  const shown = JSON.stringify({ [payload]: payload, code: payload, old: payload, new: `${payload}\n` });
  const schema = { properties: { [payload]: { enum: [payload] }, more: { description: payload } } };
  const question = { tool: payload, description: payload, shown, schema };
  const result = { ...question, gate: "result" as const, digest: "d2", shown: payload };
  const desk = new Desk([
    call(question, { resolved: { [payload]: reference(payload, payload) } }),
    call(result, { id: "c2", call_id: "c2" }),
  ]);
  page = desk.page;
  await vi.advanceTimersByTimeAsync(600);
  await desk.press("Show all").catch(() => {});
  await desk.press("Edit");
  await desk.type("textarea", `${payload}!`);

  expect(dangers(desk.el.querySelector(".nb-card") as Element)).toEqual([]);
  expect(desk.el.querySelectorAll("img, script, iframe, svg, style, link, object")).toHaveLength(0);
  expect(alert).not.toHaveBeenCalled();
});
