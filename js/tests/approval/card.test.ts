import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_SIGNED_LINES } from "../../src/rich/approval/Diff";
import { dangers } from "../page";
import { plain } from "../resolved";
import { ask, call, calls, type Desk, screen, withTargets } from "./desk";

/** The first call of a desk, as a line about its decision names it. */
const FIRST = 'tool1(ticker="ACME", n=12345678901234567890)';

let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  screen.isInView = true;
  vi.useRealTimers();
});

/** What is read to who cannot see. */
const announced = (): unknown => desk.el.querySelector(".nb-visually-hidden")?.textContent;

test("all calls that wait are on one card, and are approved or denied one by one", async () => {
  desk = await ask(calls({}, {}, {}));
  const items = (): unknown[] =>
    [...desk.el.querySelectorAll(".nb-item")].map((each) => each.getAttribute("aria-label"));
  const first = items();

  await desk.press("Approve");
  await desk.decided("c1", "d1", "approved");
  await vi.advanceTimersByTimeAsync(1_600);
  await desk.press("Deny");

  expect(desk.el.querySelectorAll(".nb-card")).toHaveLength(1);
  expect(first).toEqual(["Run tool1", "Run tool2", "Run tool3"]);
  expect(items()).toEqual(["Run tool2", "Run tool3"]);
  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1" },
    { kind: "deny", digest: "d2" },
  ]);
});

test("after a decision clicks are ignored for a while, so that a double click decides once", async () => {
  desk = await ask(calls({}, {}));

  await desk.press("Approve");
  await desk.decided("c1", "d1", "approved");
  await desk.press("Approve");

  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test.each([
  ["Approve all 2", "approve"],
  ["Deny all 2", "deny"],
])("%s decides each question by its own digest", async (name, kind) => {
  desk = await ask(calls({}, {}));

  await desk.press(name);

  expect(desk.decisions()).toEqual([
    { kind, digest: "d1" },
    { kind, digest: "d2" },
  ]);
});

test.each([
  [["run", "run"], "2 calls wait for you", "Approve all 2", "Deny all 2"],
  [["result", "result"], "2 results wait for you", "Release all 2", "Withhold all 2"],
  [
    ["run", "result"],
    "1 call and 1 result wait for you",
    "Approve or release all 2",
    "Deny or withhold all 2",
  ],
] as const)("questions of the gates %s are named as what they are", async ([one, other], title, yes, no) => {
  desk = await ask(calls({ gate: one, shown: "{}" }, { gate: other, shown: "{}" }));
  const named = [".nb-card-title", ".nb-card-head .nb-primary", ".nb-card-head .nb-button:last-child"].map(
    (part) => desk.el.querySelector(part)?.textContent,
  );

  await desk.press(no);

  expect(named).toEqual([title, yes, no]);
  expect(desk.decisions()).toHaveLength(2);
});

test("a call that comes after the card was drawn is not among those approved together", async () => {
  desk = await ask(calls({}, {}));
  const late = calls({}, {}, {})[2];
  if (late) desk.kernel.patches({ op: "open", block: late });
  await vi.advanceTimersByTimeAsync(10);

  await desk.press("Approve all");

  expect(desk.decisions()).toEqual([]);
});

/** Click with a pointer at a height of the page. */
async function clickAt(name: string, clientY: number): Promise<void> {
  desk.button(name).dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1, clientX: 9, clientY }));
  await vi.advanceTimersByTimeAsync(10);
}

test("the calls that are left are not approved together until a while after one was decided", async () => {
  desk = await ask(calls({}, {}, {}));
  await clickAt("Approve", 200);
  await vi.advanceTimersByTimeAsync(1_000);
  const isEarly = (name: string): boolean => desk.button(name).getAttribute("aria-disabled") === "true";
  const onItsWay = isEarly("Approve all 2");
  await clickAt("Approve all 2", 0);
  await desk.decided("c1", "d1", "approved");
  await vi.advanceTimersByTimeAsync(1_400);
  const early = [isEarly("Approve all 2"), desk.decisions().length];

  await vi.advanceTimersByTimeAsync(200);
  await clickAt("Approve all 2", 0);

  expect(onItsWay).toBe(true);
  expect(early).toEqual([true, 1]);
  expect(desk.decisions()).toHaveLength(3);
});

test("a click where a question was clicked approves no others, however late, and the card says why", async () => {
  desk = await ask(calls({}, {}, {}));
  await clickAt("Approve", 200);
  await desk.decided("c1", "d1", "approved");
  await vi.advanceTimersByTimeAsync(60_000);
  await clickAt("Approve all 2", 204);
  const same = desk.decisions().length;
  const told = desk.el.querySelector(".nb-card-head")?.textContent;

  await clickAt("Approve all 2", 100);

  expect(same).toBe(1);
  expect(told).toContain("You clicked a question at this place");
  expect(desk.decisions()).toHaveLength(3);
});

test("a sensitive call is approved by itself, and can be denied with the others", async () => {
  desk = await ask(calls({}, { sensitive: true, can_remember: false }, {}));
  const text = desk.el.textContent;

  await desk.press("Approve all 2");
  const approved = desk.decisions();
  desk.page.close();
  desk = await ask(calls({}, { sensitive: true, can_remember: false }));
  await desk.press("Deny all 2");

  expect(text).toContain("tool2 is decided by itself");
  expect(approved).toEqual([
    { kind: "approve", digest: "d1" },
    { kind: "approve", digest: "d3" },
  ]);
  expect(desk.el.textContent).not.toContain("Approve all");
  expect(desk.decisions()).toEqual([
    { kind: "deny", digest: "d1" },
    { kind: "deny", digest: "d2" },
  ]);
});

test("a sensitive call says why its card looks like a warning, also to a screen reader, and no other does", async () => {
  desk = await ask(calls({}, { sensitive: true, can_remember: false }));
  const items = [...desk.el.querySelectorAll(".nb-item")].map((one) => one.textContent);

  expect(items[0]).not.toContain("Sensitive");
  expect(items[1]).toContain("Sensitive: you are asked every time, and no decision is remembered.");
  expect(desk.el.querySelector(".nb-visually-hidden[role=status]")?.textContent).toContain(
    "tool1, tool2 (sensitive).",
  );
});

test("several short calls are one line each, and the fields of one open on demand", async () => {
  const asked = calls({ shown: '{"ticker": "AAA"}' }, { shown: '{"ticker": "AAA"}' });
  desk = await ask(asked.map((one) => withTargets(one, { ticker: plain('"AAA"') })));
  const closed = desk.el.querySelectorAll(".nb-compact").length;
  const fields = desk.el.querySelectorAll(".nb-reason").length;

  await desk.press("Reason…");

  expect([closed, fields]).toEqual([2, 0]);
  expect(document.activeElement).toBe(desk.el.querySelector(".nb-reason"));
  expect(desk.el.querySelector(".nb-compact .nb-card-summary")?.textContent).toBe('Run tool2(ticker="AAA")?');
  expect(desk.el.querySelectorAll(".nb-reason")).toHaveLength(1);
});

test("an argument whose name could be read as more than one is shown in a row of its own", async () => {
  const name = 'path="safe", x';
  const known = calls({ shown: JSON.stringify({ [name]: 1 }) }, {});
  desk = await ask(known.map((one) => withTargets(one, { [name]: plain("1") })));

  expect(desk.el.querySelector(".nb-item")?.className).toBe("nb-item");
  expect(desk.el.querySelector(".nb-arguments dt")?.textContent).toBe(name);
});

test("nothing is decided for all before each was seen in full", async () => {
  screen.isInView = false;
  desk = await ask(calls({}, {}));
  await desk.press("Approve all 2");
  const unseen = desk.decisions();
  desk.page.close();
  screen.isInView = true;
  desk = await ask(calls({}, { shown: JSON.stringify({ text: "x".repeat(900) }) }));
  await desk.press("Approve all 2");
  const unopened = desk.decisions();
  const told = desk.el.querySelector(".nb-card-head")?.textContent;

  await desk.press("Show all");
  await desk.press("Approve all 2");

  expect([unseen, unopened]).toEqual([[], []]);
  expect(told).toContain("1 call not fully shown yet");
  expect(desk.decisions()).toHaveLength(2);
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

test("a question that was decided elsewhere shows by whom while others wait", async () => {
  desk = await ask(calls({}, {}));

  await desk.decided("c1", "d1", "denied", "%chat");

  expect(desk.el.querySelector(".nb-outcome")?.textContent).toBe(`${FIRST}: The call was denied by %chat.`);
});

test("a reason that ends with a full stop gets no second one", async () => {
  desk = await ask(calls({}, {}));
  const decision = {
    gate: "run" as const,
    digest: "d1",
    verdict: "denied" as const,
    by: "button",
    edited: false,
  };
  const decisions = [{ ...decision, reason: "Not needed.", line: "The call was denied: Not needed." }];

  desk.kernel.patches({ op: "update", id: "c1", set: { question: null, state: "denied", decisions } });
  await vi.advanceTimersByTimeAsync(10);

  expect(desk.el.querySelector(".nb-outcome")?.textContent).toBe(
    `${FIRST}: The call was denied: Not needed.`,
  );
});

test("after the last decision the log alone has it, and a screen reader is told", async () => {
  desk = await ask(calls({}));

  await desk.decided("c1", "d1", "denied", "%chat");

  expect(desk.el.querySelector(".nb-card")).toBeNull();
  expect(announced()).toBe(`${FIRST}: The call was denied by %chat.`);
  expect(desk.el.querySelector(".nb-call > summary")?.textContent).toContain("denied by %chat");

  const [next] = calls({ digest: "d9" });
  if (next) desk.kernel.patches({ op: "open", block: { ...next, id: "c9" } });
  await vi.advanceTimersByTimeAsync(10);
  expect(desk.el.querySelector(".nb-outcome")).toBeNull();
});

test("a question that expired shows that", async () => {
  desk = await ask(calls({}));

  await desk.decided("c1", "d1", "denied", "expired");

  expect(announced()).toBe(`${FIRST}: denied, because nobody decided in time.`);
});

test("a question that was withdrawn says what became of its call", async () => {
  desk = await ask(calls({}));

  desk.kernel.patches({ op: "update", id: "c1", set: { question: null, state: "cancelled" } });
  await vi.advanceTimersByTimeAsync(10);

  expect(announced()).toBe(`${FIRST}: not run; withdrawn.`);
});

test("a question about a result that was withdrawn says that its call had run", async () => {
  desk = await ask(calls({ gate: "result", shown: "4.2" }).map((one) => ({ ...one, started: 1 })));

  desk.kernel.patches({ op: "update", id: "c1", set: { question: null, state: "cancelled" } });
  await vi.advanceTimersByTimeAsync(10);

  expect(announced()).toContain(": cancelled; withdrawn.");
});

test("of calls that read the same, the line about a decision has the number", async () => {
  const same = { tool: "price", shown: '{"ticker":"AAA"}' };
  desk = await ask([
    ...calls(same, same),
    call({ ...same, digest: "d3", shown: '{"ticker":"BBB"}' }, { id: "c3", call_id: "c3" }),
  ]);

  for (const [id, digest] of [
    ["c2", "d2"],
    ["c3", "d3"],
  ] as const)
    await desk.decided(id, digest, "approved", "%chat");

  expect([...desk.el.querySelectorAll(".nb-outcome")].map((line) => line.textContent)).toEqual([
    'price(ticker="AAA"), call 2 of 3: The call was approved by %chat.',
    'price(ticker="BBB"): The call was approved by %chat.',
  ]);
});

test("a question that moves into the place of a decided one cannot be approved for a while", async () => {
  desk = await ask(calls({}, {}));
  await desk.press("Approve");
  await desk.decided("c1", "d1", "approved");
  await vi.advanceTimersByTimeAsync(1_400);
  const early = ["Approve", "Deny"].map((name) => desk.button(name).getAttribute("aria-disabled") === "true");
  await desk.press("Approve");
  await vi.advanceTimersByTimeAsync(200);
  const sent = desk.decisions().length;

  await desk.press("Approve");

  expect([early, sent]).toEqual([[true, true], 1]);
  expect(desk.decisions()).toHaveLength(2);
});

test("after the last decision the turn has the focus, until something else has it", async () => {
  desk = await ask(calls({}));
  const turn = desk.el.querySelector<HTMLElement>(".nb-turn");
  const before = turn?.hasAttribute("tabindex");
  desk.el.querySelector<HTMLElement>(".nb-item")?.focus();
  await desk.key(".nb-item", "Enter", { ctrlKey: true });

  await desk.decided("c1", "d1", "approved");
  const focused = document.activeElement;
  desk.button("Stop").focus();

  expect(before).toBe(false);
  expect(focused).toBe(turn);
  expect(turn?.hasAttribute("tabindex")).toBe(false);
});

test("what was decided on this page leaves no card behind", async () => {
  desk = await ask(calls({}));
  await desk.press("Approve");

  await desk.decided("c1", "d1", "approved");

  expect(desk.el.querySelector(".nb-card")).toBeNull();
});

test("Ctrl+Enter approves where the focus is in the card, Enter alone only on a question itself", async () => {
  desk = await ask(calls({}, {}));

  await desk.key(".nb-item button", "Enter", { ctrlKey: true });
  await desk.key(".nb-item:last-of-type", "Enter");

  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1" },
    { kind: "approve", digest: "d2" },
  ]);
});

test.each([
  [".nb-reason", {}],
  [".nb-reason", { ctrlKey: true }],
  ["select", { ctrlKey: true, shiftKey: true }],
])("in %s, Enter with %j denies with the reason", async (where, keys) => {
  desk = await ask(calls({}));
  await desk.type(".nb-reason", "not today");

  await desk.key(where, "Enter", keys);

  expect(desk.decisions()).toEqual([{ kind: "deny", digest: "d1", reason: "not today" }]);
});

test("with a reason typed the button that stands out is the one that denies", async () => {
  desk = await ask(calls({}));
  const primary = (): unknown => desk.el.querySelector(".nb-primary")?.textContent;
  const before = primary();

  await desk.type(".nb-reason", "not today");

  expect([before, primary()]).toEqual(["Approve", "Deny"]);
});

test("the keys of a decision are in the tooltips of its buttons, for screen readers, and written below the question", async () => {
  desk = await ask(calls({}));

  expect(desk.button("Approve").title).toBe("Approve (Ctrl+Enter)");
  expect(desk.button("Deny").title).toBe("Deny (Ctrl+Shift+Enter, or Enter in the reason)");
  expect(desk.button("Approve").getAttribute("aria-keyshortcuts")).toBe("Control+Enter");
  expect(desk.button("Deny").getAttribute("aria-keyshortcuts")).toBe("Control+Shift+Enter");
  expect(desk.el.querySelector(".nb-keys")?.textContent).toBe("Ctrl+Enter approve · Ctrl+Shift+Enter deny");
});

test("of several questions the keys decide the one that has the focus, and the hint says so", async () => {
  desk = await ask(calls({}, {}));
  const hint = (): unknown => desk.el.querySelector(".nb-card > .nb-keys")?.textContent;

  expect(hint()).toBe("Only the marked call: Ctrl+Enter approve · Ctrl+Shift+Enter deny");
  await desk.key(".nb-item:last-of-type button", "Enter", { ctrlKey: true });

  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d2" }]);
});

test("the hint names what the keys do to each of several questions", async () => {
  desk = await ask(calls({ gate: "result", shown: "4.2" }, {}));

  expect(desk.el.querySelector(".nb-card > .nb-keys")?.textContent).toBe(
    "Only the marked call: Ctrl+Enter release or approve · Ctrl+Shift+Enter withhold or deny",
  );
  expect(desk.el.querySelector(".nb-item .nb-keys")?.textContent).toBe(
    "This call: Ctrl+Enter release · Ctrl+Shift+Enter withhold",
  );
});

test("the title of the page counts what waits, also after the page has changed its title", async () => {
  document.title = "scratch.ipynb";
  desk = await ask(calls({}, {}));
  const waiting = document.title;
  document.title = "scratch.ipynb - JupyterLab";
  await vi.advanceTimersByTimeAsync(10);
  const renamed = document.title;

  await desk.press("Approve");
  await desk.decided("c1", "d1", "approved");
  await vi.advanceTimersByTimeAsync(1_600);
  const less = document.title;
  desk.page.close();

  expect(waiting).toBe("(2) scratch.ipynb");
  expect([renamed, less]).toEqual(["(2) scratch.ipynb - JupyterLab", "(1) scratch.ipynb - JupyterLab"]);
  expect(document.title).toBe("scratch.ipynb - JupyterLab");
});

test("a card comes into view, except where the person is typing", async () => {
  const scroll = vi.spyOn(Element.prototype, "scrollIntoView").mockReturnValue();
  desk = await ask(calls({}));
  const calm = scroll.mock.calls.length;
  desk.page.close();
  const editor = document.createElement("textarea");
  document.body.append(editor);
  editor.focus();
  desk = await ask(calls({}));

  expect([calm, scroll.mock.calls.length]).toEqual([1, 1]);
  editor.remove();
  scroll.mockRestore();
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

test("a diff of more lines than get a sign each is one plain text, which says so", async () => {
  const effect = `--- a.md\n+++ a.md\n${"+one\n".repeat(MAX_SIGNED_LINES)}-two`;
  desk = await ask(calls({ effect, shown: '{"path": "a.md"}' }));
  await desk.press("Show all");
  await vi.advanceTimersByTimeAsync(5_000);
  const changes = desk.el.querySelector(".nb-changes");

  expect(changes?.querySelector("p")?.textContent).toBe("10,001 lines: shown as plain text.");
  expect(changes?.querySelector("pre")?.textContent).toBe(`${"+one\n".repeat(MAX_SIGNED_LINES)}−two`);
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
