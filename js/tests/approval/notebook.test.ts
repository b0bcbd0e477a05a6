import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ask, call, type Desk } from "./desk";

let desk: Desk;

beforeEach(async () => {
  vi.useFakeTimers();
  const done = call({}, { question: null, state: "ok", result: "4.2", reference: "price_1_result" });
  desk = await ask([done]);
});
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

const said = (): string => desk.el.querySelector(".nb-bind-row")?.textContent ?? "";

/** Answer the last request to bind. */
async function answer(ok: boolean, text = ""): Promise<void> {
  const { id } = desk.kernel.of("bind").at(-1) as { id: string };
  desk.kernel.tell({ v: 1, kind: "bound", id, call_id: "c1", ok, name: "close", text });
  await vi.advanceTimersByTimeAsync(10);
}

async function send(): Promise<void> {
  desk.el.querySelector("form")?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await vi.advanceTimersByTimeAsync(10);
}

test("a result that is kept gets a name in the notebook", async () => {
  await desk.press("Add to notebook");
  const proposed = desk.el.querySelector<HTMLInputElement>(".nb-bind")?.value;
  await desk.type(".nb-bind", "close");
  await send();
  await answer(true);

  expect(proposed).toBe("price_1_result");
  expect(desk.kernel.of("bind").map(({ call_id, name, replace }) => ({ call_id, name, replace }))).toEqual([
    { call_id: "c1", name: "close", replace: undefined },
  ]);
  expect(said()).toContain("Added to the notebook.");
});

test("a name that is none is not sent", async () => {
  await desk.press("Add to notebook");
  await desk.type(".nb-bind", "1st close");
  await send();

  expect(desk.kernel.of("bind")).toEqual([]);
  expect(desk.button("Bind").disabled).toBe(true);
  expect(said()).toContain("A name consists of letters, digits and _");
});

test("a name that is in use is refused, and overwritten if that is confirmed", async () => {
  await desk.press("Add to notebook");
  await send();
  await answer(false, "price_1_result stands for something else here.");
  const refused = said();
  desk.el.querySelector<HTMLInputElement>('.nb-bind-row input[type="checkbox"]')?.click();
  await vi.advanceTimersByTimeAsync(10);
  await send();

  expect(refused).toContain("stands for something else here.");
  expect(desk.kernel.of("bind").at(-1)?.replace).toBe(true);
});

test("a call without a reference has no such button", async () => {
  desk.page.close();
  desk = await ask([call({}, { question: null, state: "ok", result: "4.2" })]);

  expect(desk.el.textContent).not.toContain("Add to notebook");
});
