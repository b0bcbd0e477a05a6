import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ReaskData } from "../../src/protocol";
import { ask, call, type Desk } from "./desk";

let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

const changed: ReaskData = {
  reason: "changed",
  title: "Asked again.",
  differences: [{ what: "the argument 'df'", before: "df: 3 rows", after: "df: 1,000,000 rows" }],
  problem: "",
  edited: "",
};

test.each([false, true])("a question that is asked again replaces its card (plain: %s)", async (plain) => {
  desk = await ask([call()], { plain });
  await desk.decided("c1", "d1", "approved");
  const { question } = call({ digest: "d2", again: changed, notes: ["df cannot be watched for changes."] });
  desk.kernel.patches({ op: "update", id: "c1", set: { question, state: "waiting" } });
  await vi.advanceTimersByTimeAsync(1_600);

  const remarks = desk.el.querySelector(".nb-remarks")?.textContent;
  await desk.press("Approve");

  expect(remarks).toContain("Asked again.");
  expect(remarks).toContain("df: 1,000,000 rows");
  expect(remarks).toContain("cannot be watched");
  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d2" }]);
});

test("arguments that did not fit are there to be put right, with the problem", async () => {
  const again: ReaskData = {
    reason: "invalid",
    title: "Asked again.",
    differences: [],
    problem: "'n' is missing",
    edited: '{"ticker": "GLOB"}',
  };
  desk = await ask([call({ again })]);

  expect(desk.el.querySelector(".nb-remarks")?.textContent).toContain("'n' is missing");
  expect(desk.el.querySelector("textarea")?.value).toBe("GLOB");
  expect(desk.el.querySelector(".nb-card-summary")?.textContent).toContain("as you edited it");
});

test("the problem of arguments is not shown any more once they are edited again, nor for the next question", async () => {
  const again: ReaskData = {
    reason: "invalid",
    title: "Asked again.",
    differences: [],
    problem: "no such day",
    edited: '{"ticker": "GLOB"}',
  };
  desk = await ask([call({ again })]);
  const problem = (): boolean => desk.el.textContent?.includes("no such day") ?? false;
  const first = problem();

  await desk.type("textarea", "ACME");
  const edited = problem();
  await desk.type("textarea", "GLOB");
  const back = problem();
  const { question } = call({ digest: "d2", again: changed });
  desk.kernel.patches({ op: "update", id: "c1", set: { question } });
  await vi.advanceTimersByTimeAsync(1_600);

  expect([first, edited, back, problem()]).toEqual([true, false, true, false]);
});

test("the reason of a refused decision is not shown any more once the arguments are edited again", async () => {
  desk = await ask([call()]);
  await desk.press("Edit");
  await desk.type('textarea[id$="-ticker"]', "GLOB");
  await desk.press("Approve as edited");
  const { id } = desk.kernel.said.findLast(({ kind }) => kind === "approve") as { id: string };
  desk.kernel.tell({ v: 1, kind: "decided", id, digest: "d1", ok: false, text: "GLOB is closed today." });
  await vi.advanceTimersByTimeAsync(1_600);
  const refused = desk.said();

  await desk.type('textarea[id$="-ticker"]', "ACME");

  expect(refused).toContain("GLOB is closed today.");
  expect(desk.said()).not.toContain("GLOB is closed today.");
});

test("what cannot be watched is not remembered for the call", async () => {
  desk = await ask([call({ can_remember_call: false })]);

  const options = [...desk.el.querySelectorAll("option")].map(({ value }) => value);

  await desk.type('[aria-label="Remember the decision"]', "tool");
  const warning = desk.el.querySelector("[role=alert]")?.textContent;

  expect(options).toEqual(["", "tool"]);
  expect(warning).toContain("every later call");
  expect(warning).not.toContain("safer");
});
