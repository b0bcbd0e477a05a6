import { expect, test } from "vitest";
import type { Block, CallBlock, Document, Head } from "../src/protocol";
import { parseLosslessJson } from "../src/rich/log/json";
import { shortArguments } from "../src/text/argumentLines";
import { drawn, Kernel, shown, start } from "./page";
import { reference } from "./resolved";

function call(values: Partial<CallBlock> = {}): CallBlock {
  return {
    id: "c1",
    kind: "call",
    call_id: "c1",
    name: "price",
    round: 2,
    arguments: '{"ticker": "ACME", "n": 12345678901234567890, "table": "$VAR_REF{{df}}"}',
    resolved: { table: reference("df", "DataFrame, 2 rows") },
    repaired: [],
    state: "ok",
    question: null,
    decisions: [],
    progress: "",
    fraction: null,
    result: '{"close": [7, 8]}',
    reason: "",
    reference: "price_1",
    started: 1,
    seconds: 0.4,
    more: {},
    glances: { table: { columns: ["ticker", "close"], rows: [["ACME", "7"]] } },
    ...values,
  };
}

async function page(
  blocks: Block[],
  head: Partial<Head> = {},
): Promise<{ el: HTMLElement; kernel: Kernel; close(): void }> {
  const document: Document = { ...start(), blocks };
  const kernel = new Kernel({ ...document, head: { ...document.head, ...head } });
  const made = shown(kernel);
  await drawn();
  return { ...made, kernel };
}

async function open(el: Element): Promise<void> {
  for (const fold of el.querySelectorAll("details")) {
    fold.open = true;
    fold.dispatchEvent(new Event("toggle"));
  }
  await drawn();
}

test("a call is one line until it is opened, and then all of it", async () => {
  const { el, close } = await page([call()]);
  const closed = el.querySelector(".nb-fold-body");

  await open(el);

  expect(closed).toBeNull();
  const text = el.querySelector(".nb-fold-body")?.textContent ?? "";
  for (const part of [
    "12345678901234567890",
    "table = df",
    "DataFrame, 2 rows",
    "ACME7",
    "close",
    "round 2",
    "took 0.4 s",
    "price_1",
  ]) {
    expect(text).toContain(part);
  }
  close();
});

test("arguments appear as they are written", async () => {
  const { el, kernel, close } = await page([call({ state: "writing", arguments: '{"code": "x =' })]);
  await open(el);

  kernel.patches({ op: "extend", id: "c1", field: "arguments", text: " 1" });
  await drawn();

  expect(el.querySelector(".nb-fold-body")?.textContent).toContain('{"code": "x = 1');
  close();
});

test("many finished calls are one line that says how many of which did not do well", async () => {
  const calls = Array.from({ length: 100 }, (_, n) =>
    call({ id: `c${n}`, started: n, state: n === 3 ? "error" : "ok" }),
  );
  const { el, close } = await page([...calls, call({ id: "last", state: "running" })]);

  expect(el.querySelectorAll("section > .nb-group, .nb-group")).toHaveLength(1);
  expect(el.querySelector(".nb-group > summary")?.textContent).toBe(
    '100 calls: price ×100→ {"close": [7, 8]}✕ 1 failed · 40.0 s',
  );
  expect(el.querySelector(".nb-is-running")?.closest(".nb-group")).toBeNull();
  close();
});

test("a failed, a denied and a stopped call are told apart in a folded line, by a sign and a word", async () => {
  const states = ["error", "denied", "denied", "cancelled", "ok"] as const;
  const { el, close } = await page(states.map((state, n) => call({ id: `c${n}`, started: null, state })));
  const outcomes = [...el.querySelectorAll<HTMLElement>(".nb-group > summary [class^=nb-is-]")];

  expect(outcomes.map((one) => [one.className, one.textContent?.trim()])).toEqual([
    ["nb-is-error", "✕ 1 failed"],
    ["nb-is-denied", "⊘ 2 denied"],
    ["nb-is-cancelled", "■ 1 cancelled"],
  ]);
  close();
});

test("a folded line has what came of the last call, and how many calls a person approved and edited", async () => {
  const decision = { gate: "run", digest: "", verdict: "approved", by: "button", reason: "" } as const;
  const { el, close } = await page([
    call({ id: "c1", started: 1, seconds: 0.5, asked_arguments: "{}" }),
    call({ id: "c2", started: 2, seconds: 0.5, decisions: [{ ...decision, edited: true }] }),
    call({ id: "c3", started: 3, seconds: 0.5, decisions: [{ ...decision, edited: false }] }),
  ]);

  expect(el.querySelector(".nb-group > summary")?.textContent).toBe(
    '3 calls: ✓price ×3→ {"close": [7, 8]}2 approved by you · 2 edited by you · 1.5 s',
  );
  close();
});

test("the seconds in which calls ran side by side count once", async () => {
  const times = [1, 1.2, 9].map((started, n) => call({ id: `c${n}`, started, seconds: 0.5 }));
  const { el, close } = await page(times);

  expect(el.querySelector(".nb-group > summary")?.textContent).toBe(
    '3 calls: ✓price ×3→ {"close": [7, 8]}1.2 s',
  );
  close();
});

test("a list of a hundred thousand entries is shown a hundred at a time", async () => {
  const { el, close } = await page([
    call({ result: JSON.stringify({ all: Array.from({ length: 9000 }, (_, n) => n) }) }),
  ]);
  await open(el);

  await open(el.querySelector(".nb-fold-body") as Element);

  expect(el.querySelectorAll("li").length).toBeLessThan(120);
  expect(el.textContent).toContain("8,900 more");
  close();
});

test.each([
  ['{"a": 1.0, "b": "1", "c": [1e400]}', "1.0"],
  ['{"n": -12345678901234567890}', "-12345678901234567890"],
  ["[1, 2", undefined],
])("numbers of %j stay as they were written", (text, number) => {
  expect(JSON.stringify(parseLosslessJson(text))?.includes(`"source":"${number}"`)).toBe(
    number === undefined ? undefined : true,
  );
});

test("a finished turn offers what its kernel can do, and says so to it", async () => {
  const { el, kernel, close } = await page([call()], {
    status: "completed",
    acts: ["rerun", "code"],
    version: 1,
    versions: 2,
    footer: "m · replayed from 2026-11-22",
    details: "2 rounds · 1 call",
  });
  const buttons = [...el.querySelectorAll<HTMLButtonElement>("footer button")];

  for (const button of buttons) button.click();

  expect(buttons.map((one) => one.getAttribute("aria-label"))).toEqual(["Rerun", "To code"]);
  expect(el.textContent).toContain("1/2");
  expect(el.textContent).toContain("replayed from 2026-11-22");
  expect(el.querySelector("footer [title='2 rounds · 1 call']")).not.toBeNull();
  expect(kernel.of("act").map(({ action }) => action)).toEqual(["rerun", "code"]);
  close();
});

test.each([
  ["runs", { status: "running" }, null],
  ["waits for a decision", { status: "waiting" }, "a question"],
  ["waits for a decision after its cell", { status: "parked" }, "a question"],
] as const)("a turn that %s offers no cell to repeat it", async (_, head, asked) => {
  const question = asked && {
    gate: "run" as const,
    digest: "d",
    tool: "price",
    shown: "{}",
    description: "",
    schema: {},
  };
  const block = call({
    state: question ? "waiting" : "running",
    question: question && { ...question, can_remember: true, sensitive: false },
  });
  const { el, close } = await page([block], { ...head, acts: ["rerun", "edit", "code", "explore"] });

  expect(el.querySelectorAll(".nb-actions button")).toHaveLength(0);
  close();
});

test("a figure says whether the model got it, and a traceback that only the person sees it", async () => {
  const image = { key: "1", mime: "image/png", name: "plot", size: 10 };
  const { el, close } = await page([
    call({
      state: "error",
      traceback: "KeyError",
      media: [{ ...image, is_sent: false }, { ...image, is_sent: true }, image],
    }),
  ]);
  await open(el);

  expect([...el.querySelectorAll("figcaption")].map((one) => one.textContent?.split(" · ")[3])).toEqual([
    expect.stringContaining("only you see it: not sent to the model"),
    expect.stringContaining("sent to the model"),
    undefined,
  ]);
  expect([...el.querySelectorAll(".nb-title")].map((one) => one.textContent)).toContain(
    "Traceback: only you see it",
  );
  close();
});

test("what the model thought is drawn as Markdown when it is opened", async () => {
  const text = "Use `price` for **all**.";
  const { el, close } = await page([
    { id: "b1", kind: "thinking", text, refusal: false, state: "whole", more: {} },
  ]);
  const before = el.querySelector(".nb-thinking .nb-fold-body")?.textContent;
  await open(el);

  expect(before).toBe("");
  expect(el.querySelector(".nb-thinking .nb-fold-body")?.textContent?.trim()).toBe("Use price for all.");
  close();
});

test.each([
  [{ ok: true, text: "%%chat --rerun t" }, "Copy it into a cell. Nothing has run.", "%%chat --rerun t"],
  [{ ok: false, text: "There is no version 7." }, "Not possible: There is no version 7.", undefined],
])("a requested cell is shown if the page cannot insert it below", async (told, said, cell) => {
  const { el, kernel, close } = await page([], { status: "completed", acts: ["rerun"] });
  el.querySelector<HTMLButtonElement>("footer button")?.click();
  await drawn();
  const asked = el.querySelector(".nb-inserted-cell")?.textContent;

  kernel.tell({ v: 1, kind: "cell", id: "x", ...told });
  await drawn();

  expect(asked).toContain("Waiting for the kernel");
  expect(el.querySelector(".nb-inserted-cell")?.textContent).toContain(said);
  expect(el.querySelector(".nb-inserted-cell pre")?.textContent).toBe(cell);
  close();
});

test("a cell that was asked for goes below the one that shows the turn, where the page knows its notebook", async () => {
  const { el, kernel, close } = await page([], { acts: ["edit"] });
  const put: unknown[] = [];
  const view = { data: { "application/vnd.jupyter.widget-view+json": { model_id: "m1" } } };
  const sharedModel = {
    cells: [{ outputs: [] }, { outputs: [view] }, { outputs: [] }],
    insertCell: (...cell: unknown[]) => put.push(cell),
  };
  Object.assign(kernel, { widget_manager: { context: { model: { sharedModel } } } });
  kernel.traits.place = "m1";

  kernel.tell({ v: 1, kind: "cell", id: "x", ok: true, text: "%%chat --edit t\nHello" });
  await drawn();

  expect(put).toEqual([[2, { cell_type: "code", source: "%%chat --edit t\nHello" }]]);
  expect(el.querySelector(".nb-inserted-cell")?.textContent).toContain("Review, then run it");
  close();
});

test("a result shown in part says so beside its title, with what the whole is", async () => {
  const { el, close } = await page([call({ result: "AAPL 1\n…", whole: "DataFrame, 344 rows × 8 columns" })]);
  await open(el);
  const titles = [...el.querySelectorAll(".nb-section > .nb-title")].map((one) => one.textContent);
  close();

  expect(titles).toContain("Result, shown in part; the whole is DataFrame, 344 rows × 8 columns");
});

test("where the person has a table of a result, the fold says that the model saw a part", async () => {
  const table = { columns: ["mass"], rows: [["5092.4"], ["3706.2"]] };
  const { el, close } = await page([call({ result: "DataFrame\n…", whole: "DataFrame, 344 rows", table })]);
  await open(el);
  const titles = [...el.querySelectorAll(".nb-title, summary")].map((one) => one.textContent);
  close();

  expect(titles).toContain("As the model saw it, shown in part; the whole is DataFrame, 344 rows");
  expect(titles).toContain("The result, 2 rows");
});

test("a result that the page shortens has its size beside its title", async () => {
  const { el, close } = await page([call({ result: "x".repeat(300), more: { result: 1700 } })]);
  await open(el);
  const titles = [...el.querySelectorAll(".nb-section > .nb-title")].map((one) => one.textContent);
  close();

  expect(titles).toContain("Result: the first 300 of 2,000 characters");
});

test("a call without arguments has no empty box for them", async () => {
  const { el, close } = await page([call({ arguments: "{}", resolved: {} })]);
  await open(el);
  const titles = [...el.querySelectorAll(".nb-section > .nb-title")].map((one) => one.textContent);
  close();

  expect(titles).not.toContain("Arguments");
});

test("an opened call shows references by their names, and in a fold what the model wrote", async () => {
  const written =
    '{"df": "$VAR_REF{{birds}}", "query": "a $VAR_REF{{b}}", "all": ["$VAR_REF{{x[\'k\'][0]}}"]}';
  const { el, close } = await page([call({ arguments: written, line: shortArguments(written) })]);
  const line = el.querySelector(".nb-line")?.textContent;
  await open(el);

  expect(line).toBe("price(df=birds, query=\"a $VAR_REF{{b}}\", all=[x['k'][0]])");
  expect(el.querySelector(".nb-tree")?.textContent).toContain("df: birds");
  expect(el.querySelector(".nb-fold-body details pre")?.textContent).toContain('"df": "$VAR_REF{{birds}}"');
  close();
});

test("after an edit the fold shows what the model wrote, and not what ran", async () => {
  const edited = {
    arguments: '{"df": "$VAR_REF{{birds}}", "by": "island"}',
    asked_arguments: '{"df": "$VAR_REF{{birds}}", "by": "species"}',
    line: 'df=birds, by="island"',
  };
  const { el, close } = await page([call(edited)]);
  await open(el);
  const written = [...el.querySelectorAll("details")].find((fold) =>
    fold.textContent?.startsWith("As the model wrote it"),
  );

  expect(el.querySelector("summary .nb-line")?.textContent).toContain('by="island"');
  expect(written?.textContent).toContain('"by": "species"');
  expect(written?.textContent).not.toContain("island");
  expect(el.querySelectorAll("details details:has(pre)")).toHaveLength(1);
  close();
});

test("the first line of a result and of a running call's output is visible without opening", async () => {
  const { el, close } = await page([
    call({ result: "4955.1\nmore" }),
    call({ id: "c2", state: "running", result: "", progress: "year 17\nyear 18\n" }),
    call({ id: "c3", state: "cancelled", result: "", reason: "The turn was stopped." }),
    call({
      id: "c4",
      result:
        "[The user changed the arguments before this call ran; the result is for the changed arguments.]\n98.7",
      asked_arguments: "{}",
    }),
    call({ id: "c5", state: "running", result: "", progress: "" }),
    call({ id: "c6", result: "[The user changed the arguments, it says.]\n98.7" }),
    call({ id: "c7", result: '{\n  "cell": "3f5a",\n  "state": "edited"\n}' }),
    call({ id: "c8", result: `[\n  {\n    "text": "${"x".repeat(500)}"\n  }\n]` }),
  ]);

  expect([...el.querySelectorAll(".nb-first-line")].map((one) => one.textContent)).toEqual([
    "4955.1",
    "year 18",
    "The turn was stopped.",
    "98.7",
    `→ [ { "text": "${"x".repeat(106)}…`, // of the fold, and then of what is in it
    "[The user changed the arguments, it says.]",
    '{ "cell": "3f5a", "state": "edited" }',
    `[ { "text": "${"x".repeat(106)}…`,
  ]);
  // of the last call all of its first lines stand below
  expect(el.querySelector(".nb-result pre")?.textContent).toMatch(
    /^\[\n {2}\{\n {4}"text": "x+\n {2}\}\n\]\n$/,
  );
  close();
});

test("three finished calls in a row are one line, except those with images", async () => {
  const media = [{ key: "0".repeat(32), mime: "image/png", name: "plot", size: 9 }];
  const { el, close } = await page([
    call({ id: "c1" }),
    call({ id: "c2" }),
    call({ id: "c3", media }),
    call({ id: "c4" }),
    call({ id: "c5" }),
    call({ id: "c6" }),
  ]);

  expect(el.querySelectorAll(".nb-group")).toHaveLength(1);
  expect(el.querySelectorAll(".nb-group .nb-call")).toHaveLength(3);
  expect(el.querySelector(".nb-media-item")?.closest("details")).toBeNull();
  close();
});

test("a result that is a table is one, with what the model saw in a fold", async () => {
  const table = { columns: ["species", "mass"], rows: [["Gentoo", "5092.4"]], more_rows: 343 };
  const { el, close } = await page([call({ result: "DataFrame, 344 rows\n  species mass", table })]);
  await open(el);

  expect([...el.querySelectorAll("[aria-label=Result] :is(td, th)")].map((cell) => cell.textContent)).toEqual(
    ["species", "mass", "Gentoo", "5092.4"],
  );
  expect([...el.querySelectorAll(".nb-fold-body .nb-number")].map((cell) => cell.textContent)).toEqual([
    "close",
    "7",
    "mass",
    "5092.4",
  ]);
  expect(el.querySelector(".nb-result")?.textContent).toBe("speciesmassGentoo5092.4344 rows");
  expect(el.querySelector(".nb-fold-body")?.textContent).toContain("… 343 rows more");
  const folds = [...el.querySelectorAll(".nb-fold-body details")].map(({ textContent }) => textContent);
  expect(folds.find((text) => text?.startsWith("As the model saw it, 34 characters"))).toContain(
    "DataFrame, 344 rows",
  );
  expect(el.querySelector(".nb-section:has([aria-label=Result]) > .nb-title")?.textContent).toBe(
    "The result, 1 of 344 rows",
  );
  close();
});
