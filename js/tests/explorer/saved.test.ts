import { readFileSync } from "node:fs";
import { h, render } from "preact";
import { afterEach, expect, test } from "vitest";
import { Explorer } from "../../src/explorer/Explorer";
import { createSavedClient, parseSavedHistory } from "../../src/explorer/savedHistory";
import type { SavedHistory } from "../../src/generated";
import { drawn } from "../page";
import { PAYLOADS } from "../payloads";
import { press, turnId, type } from "./kernel";

/** A conversation as nbtool saved it; tests/blocks/history/test_saved_history.py keeps it true. */
const TEXT = readFileSync(`${import.meta.dirname}/saved.json`, "utf8");
const saved = (): SavedHistory => JSON.parse(TEXT) as SavedHistory;

const el = document.createElement("div");
document.body.append(el);
afterEach(() => render(null, el));

async function shown(history: unknown): Promise<HTMLElement> {
  const parsed = parseSavedHistory(history);
  if (!parsed) throw new Error("not read");
  const client = createSavedClient(parsed);
  render(h(Explorer, { client }), el);
  client.refresh();
  await drawn();
  return el;
}

test("a saved conversation is opened, searched, compared and summed without a kernel", async () => {
  const page = await shown(saved());
  expect(page.querySelector(".nb-x-prompt")?.textContent).toContain("Question 5: please find");
  expect(page.querySelectorAll("article details.nb-call")).toHaveLength(2);
  expect(page.textContent).toContain("saved with the notebook");
  expect([...page.querySelectorAll("article button.nb-x-action")].map((one) => one.textContent)).toEqual([
    "Compare with…",
  ]);

  await type(page, "[type=search]", "answer to question 8.");
  await drawn();
  const row = page.querySelector<HTMLElement>("[role=treeitem]");
  expect(page.querySelectorAll("[role=treeitem]")).toHaveLength(1);
  expect(row?.querySelector(".nb-x-found")?.textContent).toContain("answer to question 8.");
  row?.click();
  await drawn();
  expect(page.querySelector(".nb-x-prompt")?.textContent).toContain("Question 8: please find");

  await press(page, "Totals");
  expect(page.textContent).toContain("spent");
});

test("a turn that is not saved in full says so", async () => {
  const history = saved();
  history.turns = history.turns.filter(({ document }) => document.head.turn_id !== turnId(5));
  const page = await shown(history);

  expect(page.querySelector(".nb-x-pane")?.textContent).toContain("too large for the saved notebook");
});

test("a turn that had not ended when it was saved says so, and not that it is too large", async () => {
  const history = saved();
  history.turns = history.turns.filter(({ document }) => document.head.turn_id !== turnId(5));
  for (const version of history.index.rows.flatMap((row) => row.versions))
    if (version.turn_id === turnId(5)) version.status = "parked";
  const page = await shown(history);

  expect(page.querySelector(".nb-x-pane")?.textContent).toContain(
    "had not ended when the notebook was saved",
  );
});

test("nothing of a forged conversation becomes an element", async () => {
  const all = PAYLOADS.slice(0, 300).join("\n");
  const short = all.slice(0, 290);
  const history = JSON.parse(TEXT, (key, value: unknown) =>
    ["said", "model", "name", "title", "made", "replayed"].includes(key) && typeof value === "string"
      ? short
      : ["prompt", "text", "result", "arguments", "shown"].includes(key) && value !== ""
        ? all.slice(0, 4_000)
        : value,
  ) as SavedHistory;
  for (const { document } of history.turns) document.head.prompt = "";
  history.turns = history.turns.slice(0, 5);
  const page = await shown(history);
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  await drawn();
  await press(page, "Totals");

  const forbidden = "script, img, iframe, object, embed, form, video, audio, style, base, link, meta";
  expect(page.querySelectorAll(forbidden)).toHaveLength(0);
  for (const node of page.querySelectorAll("*"))
    expect(node.getAttributeNames().filter((name) => name.startsWith("on"))).toEqual([]);
});

const CHANGES: [string, (history: SavedHistory & Record<string, unknown>) => void][] = [
  ["another version", (one) => Object.assign(one, { v: 2 })],
  ["a title that is no text", (one) => Object.assign(one, { title: { toString: "x" } })],
  ["rows that are no list", (one) => Object.assign(one.index, { rows: { length: 1 } })],
  ["a row that is its own parent", (one) => Object.assign(one.index.rows[1] ?? {}, { parent: 1 })],
  ["a row without versions", (one) => Object.assign(one.index.rows[1] ?? {}, { versions: [] })],
  ["an unknown status", (one) => Object.assign(one.index.rows[0]?.versions[0] ?? {}, { status: "x" })],
  ["a turn's id with markup", (one) => Object.assign(one, { turn: '"><img>' })],
  [
    "a document of an unknown kind",
    (one) => Object.assign(one.turns[0]?.document.blocks[0] ?? {}, { kind: "html" }),
  ],
  ["more than the limit", (one) => Object.assign(one.turns[0] ?? {}, { prompt: "x".repeat(400_000) })],
];

test("fields that a newer version saved are not shown, and a line says so", async () => {
  const history = saved();
  Object.assign(history, { html: "<b>" });
  Object.assign(history.index.rows[0] ?? {}, { mood: "x" });
  Object.assign(history.turns[0]?.document.head ?? {}, { acts: ["rerun"] });
  const parsed = parseSavedHistory(history);
  const page = await shown(history);

  expect(parsed?.note).toContain("Not shown: 2 fields");
  expect(parsed).not.toHaveProperty("html");
  expect(parsed?.turns[0]?.document.head).not.toHaveProperty("acts");
  expect(page.textContent).toContain("Not shown: 2 fields");
});

test.each(CHANGES)("a conversation with %s is not read", (_, change) => {
  const history = saved() as SavedHistory & Record<string, unknown>;
  change(history);

  expect(parseSavedHistory(history)).toBeNull();
  expect(parseSavedHistory(saved())).not.toBeNull();
});

test.each([null, 1, "x", [], {}, { v: 1 }])("%j is no conversation", (value) => {
  expect(parseSavedHistory(value)).toBeNull();
});
