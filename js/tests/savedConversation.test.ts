import { readFileSync } from "node:fs";
import { h, render } from "preact";
import { afterEach, expect, test } from "vitest";
import { Conversation } from "../src/conversation/Conversation";
import { createSavedClient, parseSavedConversation } from "../src/conversation/saved";
import type { SavedConversation, SavedHistory } from "../src/generated";
import { dangers, drawn } from "./page";

const HOSTILE = "<img src=x onerror=alert(1)> \u202eabc";
const HISTORY = JSON.parse(
  readFileSync(`${import.meta.dirname}/explorer/saved.json`, "utf8"),
) as SavedHistory;

function saved(): SavedConversation & Record<string, unknown> {
  const turns = structuredClone(HISTORY.turns.slice(0, 2));
  return { v: 1, title: "Conversation", left_out: 3, turns };
}

const el = document.createElement("div");
document.body.append(el);
afterEach(() => render(null, el));

test("a saved conversation is read with its numbers, without a box and without a kernel", async () => {
  const data = saved();
  data.turns.forEach((turn) => {
    turn.prompt = HOSTILE;
  });
  const parsed = parseSavedConversation(data);
  if (!parsed) throw new Error("not read");
  render(h(Conversation, { client: createSavedClient(parsed) }), el);
  await drawn();

  expect(el.querySelectorAll("article")).toHaveLength(2);
  expect([...el.querySelectorAll(".nb-number")].map(({ textContent }) => textContent)).toEqual(["4", "5"]);
  expect(el.textContent).toContain("3 earlier turns not shown here");
  expect(el.textContent).toContain("<img src=x");
  expect(el.querySelector("textarea")).toBeNull();
  expect(dangers(el).filter((one) => !one.startsWith("ARTICLE"))).toEqual([]);
});

const CHANGES: [string, (one: SavedConversation & Record<string, unknown>) => void][] = [
  ["another version", (one) => Object.assign(one, { v: 2 })],
  ["a title that is no text", (one) => Object.assign(one, { title: 1 })],
  ["a count that is none", (one) => Object.assign(one, { left_out: -1 })],
  ["turns that are no list", (one) => Object.assign(one, { turns: { length: 1 } })],
  ["a prompt that is no text", (one) => Object.assign(one.turns[0] ?? {}, { prompt: {} })],
  [
    "a document of an unknown kind",
    (one) => Object.assign(one.turns[0]?.document.blocks[0] ?? {}, { kind: "x" }),
  ],
  ["more than the limit", (one) => Object.assign(one, { turns: Array(60).fill(one.turns[0]) })],
];

test("fields that a newer version saved are not shown, and a line says so", async () => {
  const parsed = parseSavedConversation({ ...saved(), html: "<b>" });
  if (!parsed) throw new Error("not read");
  const el = document.createElement("div");
  render(h(Conversation, { client: createSavedClient(parsed) }), el);
  await drawn();

  expect(parsed).not.toHaveProperty("html");
  expect(el.textContent).toContain("Not shown: 1 field that");
  expect(el.textContent).toContain("reload the page");
});

test.each(CHANGES)("a conversation with %s is not read", (_, change) => {
  const data = saved();
  change(data);

  expect(parseSavedConversation(data)).toBeNull();
  expect(parseSavedConversation(saved())).not.toBeNull();
});

test.each([null, 1, "x", [], {}])("%j is no conversation", (value) => {
  expect(parseSavedConversation(value)).toBeNull();
});
