import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Document, Patch } from "../src/protocol";
import { apply } from "../src/store";
import { dangers, drawn, Kernel, shown } from "./page";

interface Recording {
  start: Document;
  patches: Patch[];
  document: Document;
}

const folder = `${import.meta.dirname}/recorded`;
const recordings = readdirSync(folder)
  .sort()
  .map((name) => [name, JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as Recording] as const);

/** What is read of a turn: not what the card remembers of questions that were answered while it stood there. */
function read(el: HTMLElement): HTMLElement {
  const copy = el.cloneNode(true) as HTMLElement;
  for (const said of copy.querySelectorAll(".nb-card, .nb-outcome, .nb-visually-hidden")) said.remove();
  for (const empty of copy.querySelectorAll("section > div:empty")) empty.remove();
  return copy;
}

test("there is a recording of every state a turn can show", () => {
  expect(recordings.map(([name]) => name)).toEqual([
    "cancelled.json",
    "error.json",
    "finished.json",
    "result_gate.json",
    "round.json",
    "running.json",
    "streaming.json",
    "waiting.json",
  ]);
});

test.each(recordings)(
  "%s: the page's copy is the kernel's document",
  (_name, { start, patches, document }) => {
    expect(patches.reduce(apply, start)).toEqual(document);
  },
);

test.each(recordings)("%s: patch by patch reads as the whole document does", async (_name, recording) => {
  const live = new Kernel(recording.start);
  const streamed = shown(live);
  for (const patch of recording.patches) {
    live.patches(patch);
    await drawn();
  }
  const whole = shown(new Kernel(recording.document));
  await drawn();

  const [pieces, one] = [read(streamed.el), read(whole.el)];
  expect(pieces.textContent).toBe(one.textContent);
  expect(pieces.querySelectorAll("*").length).toBe(one.querySelectorAll("*").length);
  expect(dangers(streamed.el)).toEqual([]);
  streamed.close();
  whole.close();
});

test("a finished turn holds its reply, its calls and one line of facts, and its reply to be copied", async () => {
  const recording = recordings.find(([name]) => name === "finished.json")?.[1];
  const page = shown(new Kernel(recording?.document));
  await drawn();

  expect(page.el.querySelector("h4")?.textContent).toBe("Cheapest ticker");
  expect(page.el.querySelectorAll(".nb-call")).toHaveLength(2);
  expect(page.el.querySelector(".nb-line")?.textContent).toBe('price(ticker="ACME", table=df)');
  expect(page.el.querySelector(".nb-footer")?.textContent).toBe("practice:default · 2,273 tokens · 6.4 s");
  expect(page.el.querySelector<HTMLElement>(".nb-footer span")?.title).toContain("2 rounds · 2 calls");
  expect(
    [...page.el.querySelectorAll("footer button")].map((button) => button.getAttribute("aria-label")),
  ).toEqual(["Copy reply"]);
  page.close();
});
