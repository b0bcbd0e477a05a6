import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { dangers } from "../page";
import { ask, calls, type Desk, screen } from "./desk";

let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  screen.isInView = true;
  vi.useRealTimers();
});

test("all calls that wait are on one card, and are approved or denied one by one", async () => {
  desk = await ask(calls({}, {}, {}));
  const items = (): unknown[] =>
    [...desk.el.querySelectorAll(".nb-item")].map((each) => each.getAttribute("aria-label"));
  const first = items();

  await desk.press("Approve");
  await desk.decided("c1", "d1", "approved");
  await vi.advanceTimersByTimeAsync(600);
  await desk.press("Deny");

  expect(desk.el.querySelectorAll(".nb-card")).toHaveLength(1);
  expect(first).toEqual(["Run tool1", "Run tool2", "Run tool3"]);
  expect(items()).toEqual(["Run tool2", "Run tool3"]);
  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1" },
    { kind: "deny", digest: "d2" },
  ]);
});

test("after a decision clicks are ignored for half a second, so that a double click decides once", async () => {
  desk = await ask(calls({}, {}));

  await desk.press("Approve");
  await desk.decided("c1", "d1", "approved");
  await desk.press("Approve");

  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test.each([
  ["Approve all 2", "approve"],
  ["Deny all", "deny"],
])("%s decides each question by its own digest", async (name, kind) => {
  desk = await ask(calls({}, {}));

  await desk.press(name);

  expect(desk.decisions()).toEqual([
    { kind, digest: "d1" },
    { kind, digest: "d2" },
  ]);
});

test("a call that comes after the card was drawn is not among those approved together", async () => {
  desk = await ask(calls({}, {}));
  const late = calls({}, {}, {})[2];
  if (late) desk.kernel.patches({ op: "open", block: late });
  await vi.advanceTimersByTimeAsync(10);

  await desk.press("Approve all");

  expect(desk.decisions()).toEqual([]);
});

test("a sensitive call is decided by itself, and so are those beside it", async () => {
  desk = await ask(calls({}, { sensitive: true, can_remember: false }));

  expect(desk.el.textContent).not.toContain("Approve all");
  expect(desk.el.textContent).toContain("tool2 is decided by itself");
});

test("nothing is decided for all before each was seen in full", async () => {
  screen.isInView = false;
  desk = await ask(calls({}, {}));
  const unseen = desk.button("Approve all 2").disabled;
  desk.page.close();
  screen.isInView = true;
  desk = await ask(calls({}, { shown: JSON.stringify({ text: "x".repeat(900) }) }));
  const unopened = desk.button("Approve all 2").disabled;
  const told = desk.el.querySelector(".nb-card-head")?.textContent;

  await desk.press("Show all");

  expect([unseen, unopened]).toEqual([true, true]);
  expect(told).toContain("1 call not fully shown yet");
  expect(desk.button("Approve all 2").disabled).toBe(false);
});

test.each(["call", "tool"])("an approval can be remembered for this %s", async (scope) => {
  desk = await ask(calls({}));

  await desk.type("select", scope);
  await desk.press("Approve");

  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1", remember: scope }]);
});

test("what may not be remembered is not offered to be", async () => {
  desk = await ask(calls({ can_remember: false }));

  expect(desk.el.querySelector("select")).toBeNull();
});

test("a question that was decided elsewhere shows by whom, and stays until the next question", async () => {
  desk = await ask(calls({}));

  await desk.decided("c1", "d1", "denied", "%chat");

  expect(desk.el.querySelector(".nb-outcome")?.textContent).toBe("tool1: The call was denied by %chat.");
  expect(desk.el.querySelector(".nb-visually-hidden")?.textContent).toBe(
    "tool1: The call was denied by %chat.",
  );
  expect(desk.el.querySelectorAll(".nb-card button")).toHaveLength(0);

  const [next] = calls({ digest: "d9" });
  if (next) desk.kernel.patches({ op: "open", block: { ...next, id: "c9" } });
  await vi.advanceTimersByTimeAsync(10);
  expect(desk.el.querySelector(".nb-outcome")).toBeNull();
});

test("a question that expired shows that", async () => {
  desk = await ask(calls({}));

  await desk.decided("c1", "d1", "denied", "expired");

  expect(desk.el.querySelector(".nb-outcome")?.textContent).toBe(
    "tool1: denied, because nobody decided in time.",
  );
});

test("a question that was withdrawn says what became of its call", async () => {
  desk = await ask(calls({}));

  desk.kernel.patches({ op: "update", id: "c1", set: { question: null, state: "cancelled" } });
  await vi.advanceTimersByTimeAsync(10);

  expect(desk.el.querySelector(".nb-outcome")?.textContent).toBe("tool1: cancelled; withdrawn.");
});

test("what was decided on this page leaves no card behind", async () => {
  desk = await ask(calls({}));
  await desk.press("Approve");

  await desk.decided("c1", "d1", "approved");

  expect(desk.el.querySelector(".nb-card")).toBeNull();
});

test("Ctrl+Enter approves where the focus is in the card, Enter alone only on a question itself", async () => {
  desk = await ask(calls({}, {}));

  await desk.key(".nb-reason", "Enter");
  const typed = desk.decisions();
  await desk.key(".nb-reason", "Enter", { ctrlKey: true });
  await desk.key(".nb-item:last-of-type", "Enter");

  expect(typed).toEqual([]);
  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1" },
    { kind: "approve", digest: "d2" },
  ]);
});

test("a key that is held down approves nothing", async () => {
  desk = await ask(calls({}));

  await desk.key(".nb-item", "Enter", { repeat: true });
  await desk.key(".nb-reason", "Enter", { ctrlKey: true, repeat: true });

  expect(desk.decisions()).toEqual([]);
});

test("the focus stays in the card where a person had it, and nowhere else", async () => {
  desk = await ask(calls({}, {}));
  desk.button("Approve").focus();

  await desk.press("Approve");
  const pressed = document.activeElement?.className;
  await desk.decided("c1", "d1", "approved");

  expect(pressed).toBe("nb-item");
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Run tool2");
});

test("screen readers get one sentence for all questions", async () => {
  desk = await ask(calls({}, {}));

  expect(desk.el.querySelector(".nb-visually-hidden")?.textContent).toBe(
    "Approval required for 2 calls: tool1, tool2.",
  );
  expect(desk.el.querySelector(".nb-visually-hidden")?.getAttribute("role")).toBe("status");
});

test("odd characters and spaces are marked, and HTML stays text", async () => {
  const shown = JSON.stringify({ cmd: "a\u00a0b\u202e<img src=x onerror=alert(1)>" });
  desk = await ask(calls({ shown, tool: "<b>t</b>", description: "<script>" }));

  expect([...desk.el.querySelectorAll(".nb-hidden-char")].map((each) => each.textContent)).toEqual([
    "\\u{00a0}",
    "\\u{202e}",
  ]);
  expect(dangers(desk.el)).toEqual([]);
});

test("the changes of a file are a diff, with the arguments below it", async () => {
  const effect = "--- a.md\n+++ a.md\n@@ -1,2 +1,2 @@\n one\n-two\n+three\u200b";
  desk = await ask(calls({ effect, shown: '{"path": "a.md", "content": "one\\nthree"}' }));

  expect([...desk.el.querySelectorAll(".nb-changes > div")].map((line) => line.textContent)).toEqual([
    "…@@ -1,2 +1,2 @@",
    " one",
    "−two",
    "+three\\u{200b}",
  ]);
  expect(desk.el.querySelector("details.nb-fold .nb-arguments")?.textContent).toContain("a.md");
});

test.each([
  ["b", "c"],
  ["b", "b"],
])("of two texts of which one takes the other's place every line is shown, %s to %s", async (old, now) => {
  const stays = Array.from({ length: 9 }, (_, at) => `line ${at}`);
  const texts = { old: [...stays, old], new: [...stays, now] };

  desk = await ask(
    calls({ shown: JSON.stringify({ old: texts.old.join("\n"), new: texts.new.join("\n") }) }),
  );

  const lines = [...desk.el.querySelectorAll(".nb-changes > div")].map((line) => line.textContent?.slice(1));
  expect(new Set(lines)).toEqual(new Set([...texts.old, now]));
});

test("code is in colours, and the two sides of an edit are a diff", async () => {
  const code = 'def f():\n    return "x"\n';
  const edit = { path: "a.md", old: "one\ntwo\n", new: "one\nthree\n" };
  desk = await ask(calls({ shown: JSON.stringify({ code }) }, { shown: JSON.stringify(edit) }));
  const [first, second] = desk.el.querySelectorAll(".nb-item");

  expect(first?.querySelector("pre code")?.textContent).toBe(code);
  expect(first?.querySelectorAll("pre code span").length).toBeGreaterThan(1);
  expect([...(second?.querySelectorAll(".nb-changes > div") ?? [])].map((line) => line.textContent)).toEqual([
    " one",
    "−two",
    "+three",
  ]);
});
