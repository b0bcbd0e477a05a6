import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Again } from "../../src/protocol";
import { ask, call, type Desk } from "./desk";

let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

const changed: Again = {
  reason: "changed",
  differences: [{ what: "the argument 'df'", before: "df: 3 rows", after: "df: 1 000 000 rows" }],
  problem: "",
  edited: "",
};

test.each([false, true])("a question that is asked again replaces its card (plain: %s)", async (plain) => {
  desk = await ask([call()], { plain });
  await desk.decided("c1", "d1", "approved");
  const { question } = call({ digest: "d2", again: changed, notes: ["df cannot be watched for changes."] });
  desk.kernel.patches({ op: "update", id: "c1", set: { question, state: "waiting" } });
  await vi.advanceTimersByTimeAsync(600);

  const remarks = desk.el.querySelector(".nb-remarks")?.textContent;
  await desk.press("Approve");

  expect(remarks).toContain("Asked again: it has changed since it was shown.");
  expect(remarks).toContain("df: 1 000 000 rows");
  expect(remarks).toContain("cannot be watched");
  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d2" }]);
});

test("arguments that did not fit are there to be put right, with the problem", async () => {
  const again: Again = {
    reason: "invalid",
    differences: [],
    problem: "'n' is missing",
    edited: '{"ticker": "GLOB"}',
  };
  desk = await ask([call({ again })]);

  expect(desk.el.querySelector(".nb-remarks")?.textContent).toContain("'n' is missing");
  expect(desk.el.querySelector("textarea")?.value).toBe("GLOB");
  expect(desk.el.querySelector(".nb-ask")?.textContent).toContain("as you edited it");
});

test("what cannot be watched is not remembered for the call", async () => {
  desk = await ask([call({ can_remember_call: false })]);

  const options = [...desk.el.querySelectorAll("option")].map(({ value }) => value);

  expect(options).toEqual(["", "tool"]);
});
