import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { plain } from "../resolved";
import { ask, calls, type Desk, withTargets } from "./desk";

const MANY = JSON.stringify(Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`name${n}`, n])));

let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

function rows(): number {
  return desk.el.querySelectorAll(".nb-arguments dt").length;
}

async function drawn(): Promise<void> {
  while (desk.el.querySelector("[aria-busy=true]")) await vi.advanceTimersByTimeAsync(10);
}

test("of hundreds of arguments the first are shown, how many more there are, and all once they are opened", async () => {
  desk = await ask(calls({ shown: MANY }));
  const before = { rows: rows(), text: desk.el.textContent };
  await desk.press("Approve");

  await desk.press("Show all 700 arguments");
  await drawn();
  await desk.press("Approve");

  expect(before.rows).toBe(20);
  expect(before.text).toContain("… 680 arguments more");
  expect(rows()).toBe(700);
  expect(desk.el.textContent).toContain("name699");
  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test("nothing is approved, alone or together with others, while some of it is still to be drawn", async () => {
  desk = await ask(calls({ shown: MANY }, {}));
  await desk.press("Show all 700 arguments");

  const isBusy = desk.el.querySelector("[aria-busy=true]") !== null;
  await desk.press("Approve all");
  await desk.press("Approve");

  expect(isBusy).toBe(true);
  expect(desk.decisions()).toEqual([]);
});

test("arguments that the line omits are in rows below it", async () => {
  const short = JSON.stringify({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 });
  const resolved = Object.fromEntries([..."abcdef"].map((name, at) => [name, plain(String(at + 1))]));
  desk = await ask(calls({ shown: short }).map((one) => withTargets(one, resolved)));
  const rowsOfShort = rows();
  desk.page.close();

  desk = await ask(calls({ shown: JSON.stringify({ ...(JSON.parse(short) as object), path: "/etc" }) }));

  expect(rowsOfShort).toBe(0);
  expect(rows()).toBe(7);
});

test("the editor of hundreds of arguments draws some fields, says how many more there are, and shows those wanted", async () => {
  desk = await ask(calls({ shown: MANY }));
  await desk.press("Show all 700 arguments");
  await drawn();
  await desk.press("Edit");
  const fields = (): number => desk.el.querySelectorAll(".nb-field").length;
  const first = fields();

  await desk.press("Show 50 of the other 650 arguments");

  expect(first).toBe(50);
  expect(fields()).toBe(100);
});

test("a field with a problem is drawn wherever it is, and what is lacking is counted", async () => {
  const lacking = Array.from({ length: 30 }, (_, n) => `lacks${n}`);
  const schema = { properties: { name99: { type: "string" } }, required: lacking };
  desk = await ask(calls({ shown: MANY, schema }));
  await desk.press("Show all 700 arguments");
  await drawn();
  await desk.press("Edit");

  await desk.type(`textarea[id$="-name0"]`, "1");

  expect(desk.el.querySelector("[aria-invalid=true]")?.id).toContain("name99");
  expect(desk.el.querySelectorAll(".nb-problem")).toHaveLength(22);
  expect(desk.el.textContent).toContain("… 10 arguments more");
});
