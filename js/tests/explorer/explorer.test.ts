import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_TOOL_CHOICES } from "../../src/explorer/listRows";
import { FOUND_ROW_HEIGHT, ROW_HEIGHT } from "../../src/explorer/TurnList";
import type { Patch } from "../../src/protocol";
import { drawn, until } from "../page";
import { PAYLOADS } from "../payloads";
import { Kernel, press, RECORDED, turnId, type } from "./kernel";

let kernel: Kernel;
beforeEach(() => {
  kernel = new Kernel();
});
afterEach(() => kernel.close());

function rows(el: Element): HTMLElement[] {
  return [...el.querySelectorAll<HTMLElement>("[role=treeitem]")];
}

/** Open a recorded turn by its row; the kernel finds it too, where its answer is early. */
async function open(el: HTMLElement, number: number, of = kernel): Promise<void> {
  of.found = [turnId(number)];
  await type(el, "[type=search]", turnId(number));
  await until(() => expect(rows(el)).toHaveLength(1));
  rows(el)[0]?.click();
  await drawn();
}

test("the last turn of the active line is opened first, and only what is seen is in the page", async () => {
  const el = await kernel.show();
  const last = RECORDED.index.rows.findLast((row) => row.line);

  expect(kernel.of("open")).toHaveLength(1);
  expect(kernel.of("open")[0]?.turn).toBe(last?.versions[last.current]?.turn_id);
  expect(rows(el).length).toBeLessThan(RECORDED.index.rows.length);
  expect(el.querySelector<HTMLElement>("[role=tree] > div")?.style.height).toBe(
    `${RECORDED.index.rows.length * ROW_HEIGHT}px`,
  );
});

test("the turn that was asked for is opened first, and the last one where there is no such turn", async () => {
  const wanted = turnId(5);
  kernel.turn = wanted;
  const el = await kernel.show();

  expect(kernel.of("open").map((one) => one.turn)).toEqual([wanted]);
  expect(el.querySelector("article")).not.toBeNull();
  kernel.close();

  kernel = new Kernel();
  kernel.turn = "turn_that_is_not_there";
  await kernel.show();
  const last = RECORDED.index.rows.findLast((row) => row.line);
  expect(kernel.of("open").map((one) => one.turn)).toEqual([last?.versions[last.current]?.turn_id]);
});

test("five thousand places need no more of the page than sixty", async () => {
  const row = RECORDED.index.rows[1];
  if (!row) throw new Error("not recorded");
  const many = Array.from({ length: 5000 }, (_, n) => ({ ...row, node_id: `n_${n}`, parent: n - 1 }));
  kernel.index = { rows: many, left_out: 12 };

  const el = await kernel.show();

  expect(el.querySelectorAll("*").length).toBeLessThan(900);
  expect(el.textContent).toContain("12 more not shown");
});

test("the filter says which tools it does not offer, and that it may miss turns with many tools", async () => {
  const row = RECORDED.index.rows[0];
  const version = row?.versions[0];
  if (!row || !version) throw new Error("not recorded");
  const tools = Array.from({ length: MAX_TOOL_CHOICES + 3 }, (_, number) => `tool ${number}`);
  kernel.index = { rows: [{ ...row, versions: [{ ...version, tools, more_tools: 2 }] }], left_out: 0 };
  const el = await kernel.show();
  const select = el.querySelector<HTMLSelectElement>("[aria-label=Tool]") as HTMLSelectElement;

  expect(select.options[select.options.length - 1]?.textContent).toBe("3 more: search for the name");
  expect(select.options[select.options.length - 1]?.disabled).toBe(true);
  expect(el.textContent).not.toContain("may be missing");

  select.value = "tool 1";
  select.dispatchEvent(new Event("change"));
  await drawn();
  expect(el.textContent).toContain("1 turn with too many tools to list may be missing: search instead");
});

test("two explorers of one page have a pattern each for the time of the person", async () => {
  const other = new Kernel();
  const ids: (string | undefined)[] = [];
  for (const one of [kernel, other]) {
    const el = await one.show();
    await open(el, 5, one);
    await until(() => expect(el.querySelector(".nb-x-chart")).not.toBeNull());
    const id = el.querySelector("pattern")?.id;
    expect(el.querySelector<HTMLElement>(".nb-x-chart")?.style.getPropertyValue("--nb-x-hatch")).toBe(
      `url("#${id}")`,
    );
    ids.push(id);
  }
  other.close();

  expect(ids[0]).toMatch(/^nb-x-hatch-\w+$/);
  expect(ids[0]).not.toBe(ids[1]);
});

test("a turn is shown with its time line, its rounds and its calls", async () => {
  const el = await kernel.show();
  await open(el, 5);
  const article = el.querySelector("article");

  await until(() => expect(el.querySelector("svg[role=img]")).not.toBeNull());
  expect(article?.textContent).toContain("Question 5: please find");
  expect(el.querySelector("svg[role=img]")?.getAttribute("aria-label")).toMatch(
    /^Waiting time: Model .* You .* Tools /,
  );
  expect(article?.querySelectorAll("details.nb-call")).toHaveLength(2);
  expect([...(article?.querySelectorAll("h4") ?? [])].map((one) => one.textContent)).toEqual([
    "Round 1",
    "Round 2",
  ]);
  expect(article?.textContent).toContain("The server closed the connection.");
});

test("the slider folds the turn up to a step, and back", async () => {
  const el = await kernel.show();
  await open(el, 5);

  await type(el, "[type=range]", "0");
  expect(el.querySelectorAll("article details.nb-call")).toHaveLength(0);
  expect(el.querySelector("[type=range]")?.getAttribute("aria-valuetext")).toContain("Before the first of");
  await press(el, "Next step");
  expect(el.querySelector(".nb-x-step")?.textContent).toContain("Step 1 of");
  await type(el, "[type=range]", "1000");
  expect(el.querySelectorAll("article details.nb-call")).toHaveLength(2);
  expect(kernel.of("cell")).toHaveLength(0);
});

test("versions are turned over in the row and in the turn", async () => {
  const el = await kernel.show();
  await open(el, 6);
  expect(rows(el)[0]?.textContent).toContain("2/2");

  await press(rows(el)[0] as HTMLElement, "Previous version");

  expect(kernel.of("open").at(-1)?.turn).toBe(turnId(5));
  expect(el.querySelector("article")?.textContent).toContain("version 1 of 2");
});

test("the tree is walked and folded by keys", async () => {
  const el = await kernel.show();
  const tree = el.querySelector<HTMLElement>("[role=tree]");
  const key = async (name: string, more = {}): Promise<void> => {
    tree?.dispatchEvent(
      new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }),
    );
    await drawn();
  };

  await key("Home");
  expect(kernel.of("open").at(-1)?.turn).toBe(turnId(0));
  await key("ArrowDown");
  expect(kernel.of("open").at(-1)?.turn).toBe(turnId(1));
  await open(el, 46);
  await key("ArrowLeft");
  expect(rows(el)[0]?.getAttribute("aria-expanded")).toBe("false");
  await key("ArrowRight");
  expect(rows(el)[0]?.getAttribute("aria-expanded")).toBe("true");
});

test("what has the focus keeps its keys from the notebook, which asks that element alone", async () => {
  const el = await kernel.show();
  await open(el, 5);

  const slider = el.querySelector<HTMLElement>("[type=range]");
  slider?.dispatchEvent(new FocusEvent("focus"));

  expect(slider?.dataset.lmSuppressShortcuts).toBe("true");
});

test("a search asks the kernel once the typing rests, and lists what it found", async () => {
  vi.useFakeTimers();
  const shown = kernel.show();
  await vi.advanceTimersByTimeAsync(10);
  const el = await shown;
  kernel.found = [turnId(8)];
  for (const text of ["t", "te", "ten"]) {
    const typed = type(el, "[type=search]", text);
    await vi.advanceTimersByTimeAsync(10);
    await typed;
  }
  await vi.advanceTimersByTimeAsync(1000);
  vi.useRealTimers();
  await drawn();

  expect(kernel.of("search").map(({ text }) => text)).toEqual(["ten"]);
  expect(rows(el)).toHaveLength(1);
  const row = rows(el)[0];
  expect(row?.querySelector(".nb-x-row-text")?.textContent).toMatch(
    /^Question 8: please find .*found here: ten <b>$/,
  );
  expect(row?.querySelector(".nb-x-found")?.textContent).toBe("found here: ten <b>");
  expect([...(row?.querySelectorAll("mark") ?? [])].map(({ textContent }) => textContent)).toEqual(["ten"]);
  expect(row?.style.height).toBe(`${FOUND_ROW_HEIGHT}px`);
  await type(el, "[type=search]", "");
  expect(rows(el)[0]?.style.height).toBe(`${ROW_HEIGHT}px`);
  expect(el.querySelector("mark")).toBeNull();
});

/** Press a key in the search field. */
async function key(el: Element, name: string, shiftKey = false): Promise<void> {
  const pressed = new KeyboardEvent("keydown", { key: name, shiftKey, bubbles: true, cancelable: true });
  el.querySelector("[type=search]")?.dispatchEvent(pressed);
  expect(pressed.defaultPrevented).toBe(true);
  await drawn();
}

/** Type into the search field, and wait for the answer of the kernel. */
async function search(el: Element, text: string, found: number[]): Promise<void> {
  kernel.found = found.map(turnId);
  await type(el, "[type=search]", text);
  await until(() => expect(kernel.of("search").at(-1)?.text).toBe(text));
  await drawn();
}

test("the keys of the search field go through the turns that match, and the count follows", async () => {
  const el = await kernel.show();
  await search(el, "find", [0, 5, 8]);
  expect(el.querySelector(".nb-x-count")?.textContent).toMatch(/^3 of \d+ turns/);
  const opened = (): unknown => kernel.of("open").at(-1)?.turn;

  await key(el, "Enter");
  expect(opened()).toBe(turnId(0));
  await key(el, "Enter");
  await key(el, "ArrowDown");
  expect(opened()).toBe(turnId(8));
  await key(el, "ArrowUp");
  expect(el.querySelector(".nb-x-prompt")?.textContent).toContain("Question 5: please find");
  expect(rows(el).find((row) => row.getAttribute("aria-selected") === "true")?.textContent).toContain(
    "Question 5:",
  );
  await key(el, "Enter", true);
  await key(el, "Enter", true);
  expect(el.querySelector(".nb-x-prompt")?.textContent).toContain("Question 8: please find");
});

test("Enter does not wait until the typing rests, and opens the first turn that the kernel found", async () => {
  const el = await kernel.show();
  kernel.found = [turnId(8)];
  await type(el, "[type=search]", "only in a reply");
  expect(kernel.of("search")).toEqual([]);
  expect(el.querySelector(".nb-x-count")?.textContent).toBe("searching …");

  await key(el, "Enter");
  await drawn();

  expect(kernel.of("search")).toHaveLength(1);
  expect(kernel.of("open").at(-1)?.turn).toBe(turnId(8));
});

test("a turn that the search excludes is not shown as if it matched", async () => {
  kernel.turn = turnId(8);
  const el = await kernel.show();
  expect(el.querySelector("article")).not.toBeNull();
  await search(el, "find", [5, 46]);

  expect(el.querySelector("article")).toBeNull();
  expect(el.querySelector(".nb-x-pane")?.textContent).toContain(
    "2 turns match, and the turn that was open does not.",
  );
  await press(el, "Open the first");
  expect(el.querySelector(".nb-x-prompt")?.textContent).toContain("Question 5: please find");

  await search(el, "nobody said this", []);
  expect(el.querySelector(".nb-x-pane")?.textContent).toContain("No turn matches.");
  await type(el, "[type=search]", "");
  expect(el.querySelector(".nb-x-prompt")?.textContent).toContain("Question 5: please find");
});

test("a call is open if only its fold has what is searched", async () => {
  const el = await kernel.show();
  await search(el, "question 8", [8]);
  await key(el, "Enter");
  const calls = (): boolean[] =>
    [...el.querySelectorAll<HTMLDetailsElement>("article details.nb-call")].map(({ open }) => open);
  expect(calls()).toEqual([false, false]);
  const text = el.querySelector("article details.nb-call b")?.textContent ?? "";

  await search(el, text, [8]);
  expect(calls()[0]).toBe(true);
});

test("a completed turn in which every call failed has no tick, and says what failed", async () => {
  const row = RECORDED.index.rows[0];
  const version = row?.versions[0];
  if (!row || !version) throw new Error("not recorded");
  const versions = [
    { ...version, calls: 1, failed: 1 },
    { ...version, calls: 3, failed: 1 },
    { ...version, calls: 2, failed: 0 },
    { ...version, calls: 1, denied: 1 },
    { ...version, calls: 2, denied: 1 },
    { ...version, calls: 2, failed: 1, denied: 1 },
  ].map((one, n) => ({
    ...row,
    node_id: `n_${n}`,
    parent: n - 1,
    versions: [{ ...one, turn_id: turnId(n) }],
  }));
  kernel.index = { rows: versions, left_out: 0 };
  const el = await kernel.show();
  const signs = [...el.querySelectorAll(".nb-x-sign")];

  expect(signs.map((sign) => sign.textContent)).toEqual(["!", "✓", "✓", "⊘", "✓", "!"]);
  expect(signs.map((sign) => sign.getAttribute("aria-label"))).toEqual([
    "completed; its call failed",
    "completed; 1 of 3 calls failed",
    "completed",
    "completed; its call denied",
    "completed; 1 of 2 calls denied",
    "completed; 1 of 2 calls failed, 1 of 2 calls denied",
  ]);
  expect(signs[0]?.className).not.toContain("nb-x-is-completed");
});

test("what is searched for is no pattern", async () => {
  const el = await kernel.show();
  await type(el, "[type=search]", "question 8: .* ( [a");
  await drawn();

  expect(el.textContent).toContain("No matching turns.");
});

test("a turn of the active line has the number that commands take", async () => {
  const el = await kernel.show();
  const { rows: all } = RECORDED.index;
  const line = all.filter((row) => row.line);
  const inPlace = all.slice(0, 10).map((row) => (row.line ? String(line.indexOf(row) + 1) : ""));

  expect(rows(el).map((row) => row.querySelector(".nb-x-number")?.textContent)).toEqual(
    expect.arrayContaining(inPlace),
  );
  await open(el, 5);
  const at = all.findIndex((row) => row.versions.some((version) => version.turn_id === turnId(5)));
  expect(el.querySelector(".nb-x-facts")?.textContent).toContain(
    `turn ${line.indexOf(all[at] as never) + 1} · `,
  );
});

test("two versions are compared side by side, and what differs is marked and said", async () => {
  const el = await kernel.show();
  await open(el, 6);
  await press(el, "Compare with…");
  await press(el, "Show all turns");
  expect(el.querySelector(".nb-x-pane")?.textContent).toBe(
    "Now select another turn in the list to compare it with this one. Or compare it withversion 1",
  );
  await press(el, "version 1");
  const article = el.querySelector("article");

  expect(article?.textContent).toMatch(/Two versions of turn \d+\./);
  expect(article?.textContent).toContain("Prompt: different");
  expect(article?.textContent).not.toMatch(/places|verdict|counts/);
  expect(article?.querySelector("del")).not.toBeNull();
  expect(article?.querySelector("ins")).not.toBeNull();
});

test("while a turn is chosen for a comparison, a search that leaves it out is said, and all turns are offered", async () => {
  const el = await kernel.show();
  await open(el, 6);
  await press(el, "Compare with…");
  const found = rows(el).length;
  expect(el.querySelector(".nb-x-pane")?.textContent).toContain("The list has only what matches the search.");

  await press(el, "Show all turns");

  expect(found).toBe(1);
  expect(rows(el).length).toBeGreaterThan(1);
  expect(el.querySelector(".nb-x-pane")?.textContent).not.toContain("matches the search");
  expect(el.querySelector<HTMLInputElement>("[type=search]")?.value).toBe("");
});

test("a row begins a little before the word that was found, where its end would be cut off", async () => {
  const row = RECORDED.index.rows[0];
  const version = row?.versions[0];
  if (!row || !version) throw new Error("no row");
  const said = "Tell me how warm it is there, and in general what you think of it";
  kernel.index = { ...RECORDED.index, rows: [{ ...row, versions: [{ ...version, said }] }] };
  const el = await kernel.show();
  const text = (): string | undefined => rows(el)[0]?.querySelector(".nb-x-row-text")?.textContent;

  await type(el, "[type=search]", "general");
  const late = text();
  await type(el, "[type=search]", "warm");

  expect(late).toBe("… and in general what you think of it");
  expect(text()).toBe(said);
});

test("totals are asked for once, and plotted with their figures in words", async () => {
  const el = await kernel.show();
  await press(el, "Totals");
  await press(el, "Turn");
  await press(el, "Totals");

  expect(kernel.of("totals")).toHaveLength(1);
  expect([...el.querySelectorAll("caption")].map((one) => one.textContent)).toEqual([
    "Waiting time",
    "Tools, by time",
    "Rounds, by time",
    "Models, by time",
  ]);
  expect(el.textContent).toContain("60 calls, 12 not done");
});

test("what acts is a cell below that does not run, and a text to copy where there is no notebook", async () => {
  const el = await kernel.show();
  await open(el, 5);
  const cells = [
    { getOutputs: () => [] },
    { getOutputs: () => [{ data: { "application/vnd.jupyter.widget-view+json": { model_id: "model-1" } } }] },
  ];
  const put: unknown[] = [];

  await press(el, "Rerun");
  expect(kernel.of("cell").at(-1)).toMatchObject({ action: "rerun", turn: turnId(5) });
  expect(el.querySelector("[role=status]")?.textContent).toContain("Copy it into a cell. Nothing has run.");
  expect(el.querySelector("[role=status] pre")?.textContent).toBe("%%chat --rerun");

  const insertCell = (at: number, cell: unknown): void => void put.push([at, cell]);
  kernel.widget_manager = { context: { model: { sharedModel: { cells, insertCell } } } };
  await press(el, "Rerun");
  expect(put).toEqual([[2, { cell_type: "code", source: "%%chat --rerun" }]]);
  expect(el.querySelector("[role=status]")?.textContent).toContain("Review, then run it");
});

test("a call offers what can be done with it, from its own round on", async () => {
  const el = await kernel.show();
  await open(el, 8);
  const call = el.querySelector<HTMLDetailsElement>("article details.nb-call");
  if (!call) throw new Error("no call");
  call.open = true;
  call.dispatchEvent(new Event("toggle"));
  await drawn();

  await press(call, "Rerun from round 2");
  expect(kernel.of("cell").at(-1)).toMatchObject({ action: "rerun_from", round: 2 });
  await press(call, "Add to notebook");
  expect(kernel.of("cell").at(-1)).toMatchObject({ action: "bind", call: expect.stringMatching(/^call_p/) });
});

test("a branch is named in its turn, and what the kernel says is shown", async () => {
  const el = await kernel.show();
  await open(el, 5);
  await press(el, "Copy to a chat…");
  const field = el.querySelector<HTMLInputElement>("input.nb-reason");
  if (field) field.value = " other ";
  field?.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
  await press(el, "Copy");

  expect(kernel.of("name")).toMatchObject([{ turn: turnId(5), name: "other" }]);
  expect(el.textContent).toContain("The chat other has copies of 5 turns.");
});

test("a past chat offers nothing but to go on with it", async () => {
  kernel.acts = ["go_on"];
  const el = await kernel.show();
  await open(el, 5);
  const labels = [...el.querySelectorAll(".nb-x-action")].map((one) => one.textContent);

  expect(labels).toEqual(["Continue", "Compare with…"]);
});

test("a kernel that does not answer is shown as busy, and an unrequested answer is ignored", async () => {
  vi.useFakeTimers();
  kernel.isSilent = true;
  const shown = kernel.show();
  await vi.advanceTimersByTimeAsync(4000);
  const el = await shown;
  expect(el.textContent).toContain("No reply from the kernel yet");

  kernel.tell({ v: 1, kind: "cell", id: "x", text: "import os" });
  kernel.tell({ v: 1, kind: "index", id: "x", index: RECORDED.index });
  await vi.advanceTimersByTimeAsync(10);
  vi.useRealTimers();
  expect(el.textContent).not.toContain("import os");
  expect(rows(el)).toHaveLength(0);
});

test("nothing that a model wrote becomes an element", async () => {
  const attacks = PAYLOADS.slice(0, 400);
  const turn = structuredClone(RECORDED.turns[0]);
  const version = structuredClone(RECORDED.index.rows[0]?.versions[0]);
  if (!turn || !version) throw new Error("not recorded");
  const all = attacks.join("\n");
  for (const step of turn.steps) {
    step.label = all;
    for (const patch of step.patches) {
      if (patch.op === "head" && patch.set.prompt) patch.set.prompt = all;
      if (patch.op === "update")
        Object.assign(patch.set, { result: all, name: all, arguments: all, text: all });
    }
  }
  for (const span of turn.spans) span.label = span.state = all;
  const row = RECORDED.index.rows[0];
  const said = { ...version, turn_id: turn.turn_id, said: all, model: all, tools: attacks };
  kernel.index = {
    rows: [{ ...row, line: true, versions: [said] } as (typeof RECORDED.index.rows)[0]],
    left_out: 0,
  };
  kernel.turns = [turn];

  const el = await kernel.show();
  for (const call of el.querySelectorAll<HTMLDetailsElement>("details")) call.open = true;
  await drawn();

  expect(
    el.querySelectorAll("script, img, iframe, object, embed, form, video, audio, style, base, link, meta"),
  ).toHaveLength(0);
  for (const node of el.querySelectorAll("*")) {
    expect(node.getAttributeNames().filter((name) => name.startsWith("on"))).toEqual([]);
  }
});

test("a reader of the screen finds no fault with it", async () => {
  const el = await kernel.show();
  await open(el, 5);
  const found = await axe.run(el, {
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });

  expect(found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
});

test("an explorer that is closed listens no more", async () => {
  await kernel.show();
  kernel.close();

  expect(kernel.listeners()).toBe(0);
  expect(kernel.el.innerHTML).toBe("");
});

test("its bundle is its own, and small", () => {
  const built = `${import.meta.dirname}/../../../nbtool/view/static`;
  const packed = ["explorer.js", "explorer.css"].reduce(
    (sum, name) => sum + gzipSync(readFileSync(`${built}/${name}`), { level: 9 }).length,
    0,
  );

  expect(packed).toBeLessThanOrEqual(60_000);
});

test("an image of a call is below it, and its bytes are requested by turn and key", async () => {
  const key = "0123456789abcdef0123456789abcdef";
  const media = [{ key, mime: "image/png", name: "plot", size: 9 }];
  const detail = RECORDED.turns.find(({ steps }) => steps.some(({ patches }) => opened(patches)));
  const steps = detail?.steps.map((step) => {
    const block = opened(step.patches);
    return block
      ? { ...step, patches: [...step.patches, { op: "update", id: block, set: { media } } as Patch] }
      : step;
  });
  kernel.turns = RECORDED.turns.map((one) => (one === detail && steps ? { ...detail, steps } : one));
  const el = await kernel.show();

  await open(el, Number.parseInt(detail?.turn_id.slice(5) ?? "", 16));

  expect(el.querySelector(".nb-x-pane .nb-media-item")?.textContent).toBe("plot · image/png · 9 bytes");
});

/** The call that one of these patches opens. */
function opened(patches: Patch[]): string | undefined {
  return patches.flatMap((patch) =>
    patch.op === "open" && patch.block.kind === "call" ? [patch.block.id] : [],
  )[0];
}

test("the totals of the active line are at the head, in the words of a footer, where they are known", async () => {
  const sums = { turns: 12, calls: 1, tokens: 1234, cost: 0.02, seconds: 75, waited: 30 };
  kernel.index = { ...RECORDED.index, line_totals: { ...sums, is_cost_estimated: true } };
  const el = await kernel.show();

  expect(el.querySelector(".nb-x-line")?.textContent).toBe(
    "Active line: 12 turns · 1 call · 1,234 tokens · about $0.0200 · 45.0 s (+ 30.0 s waiting for you)",
  );
  kernel.close();

  kernel = new Kernel();
  expect((await kernel.show()).querySelector(".nb-x-line")).toBeNull();
});
