import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setModule } from "../src/kernel/lazy";
import type { Document, MediaData } from "../src/protocol";
import lazyModule from "../src/rich/index";
import { parseSavedTurn } from "../src/saved/parse";
import schema from "../src/saved/schema.json";
import { call, Looking } from "./approval/desk";
import { drawn, Kernel, shown, start } from "./page";

const KEY = "0123456789abcdef0123456789abcdef";
const PNG: MediaData = { key: KEY, mime: "image/png", name: "plot", size: 12_345 };
const addresses: string[] = [];

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", undefined);
  vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
    addresses.push(`blob:${(blob as Blob).type}`);
    return addresses.at(-1) as string;
  });
});
afterEach(() => {
  addresses.length = 0;
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function turn(...media: MediaData[]): Document {
  const block = call({}, { question: null, state: "ok", media });
  return { ...start(), blocks: [block] };
}

test("an image of a tool is asked for by its key and shown below its call", async () => {
  const kernel = new Kernel(turn(PNG));
  const page = shown(kernel);
  await drawn();
  const before = page.el.querySelectorAll("img").length;

  kernel.tell({ v: 1, kind: "media", key: KEY }, new DataView(new ArrayBuffer(4)));
  await drawn();
  const image = page.el.querySelector("img");

  expect(before).toBe(0);
  expect(kernel.of("media").map(({ key }) => key)).toEqual([KEY]);
  expect(image?.getAttribute("src")).toBe("blob:image/png");
  expect(image?.alt).toBe("plot · image/png · 12 kB");
  expect(image?.closest("details")).toBeNull();
  page.close();
});

test("attachments are shown first: a sound with its controls, other files by name", async () => {
  const sound: MediaData = { key: KEY, mime: "audio/wav", name: "", size: 900 };
  const paper: MediaData = {
    key: `${KEY.slice(1)}f`,
    mime: "application/pdf",
    name: "a.pdf",
    size: 2_500_000,
  };
  const document = start();
  const kernel = new Kernel({ ...document, head: { ...document.head, attached: [sound, paper] } });
  const page = shown(kernel);
  await drawn();
  kernel.tell({ v: 1, kind: "media", key: KEY }, new DataView(new ArrayBuffer(4)));
  await drawn();

  expect(kernel.of("media")).toHaveLength(1);
  expect(page.el.querySelector("audio")?.hasAttribute("controls")).toBe(true);
  expect(page.el.querySelector("audio")?.getAttribute("preload")).toBe("none");
  expect(page.el.textContent).toContain("a.pdf · application/pdf · 2.5 MB");
  page.close();
});

test.each<[Partial<MediaData>, string]>([
  [{ mime: "image/svg+xml" }, "plot · image/svg+xml · 12 kB"],
  [{ mime: "image/png;charset=x" }, "plot · image/png;charset=x · 12 kB"],
  [{ size: 5_000_000 }, "plot · image/png · 5.0 MB: too large to show here"],
])("%o is described, and neither requested nor shown", async (change, told) => {
  const kernel = new Kernel(turn({ ...PNG, ...change }));
  const page = shown(kernel);
  await drawn();

  expect(kernel.of("media")).toEqual([]);
  expect(page.el.querySelector(".nb-media-item")?.textContent).toBe(told);
  page.close();
});

test("what is asked about with a result is seen on the card, and an edit leaves it out", async () => {
  vi.stubGlobal("IntersectionObserver", Looking);
  const kernel = new Kernel({
    ...start(),
    blocks: [call({ gate: "result", shown: "a plot", media: [PNG] })],
  });
  const page = shown(kernel);
  await drawn();
  kernel.tell({ v: 1, kind: "media", key: KEY }, new DataView(new ArrayBuffer(4)));
  await drawn();
  const card = page.el.querySelector(".nb-card");

  expect(card?.querySelector(".nb-card-summary")?.textContent).toContain("(6 characters and 1 image)");
  expect(card?.querySelector("img")?.getAttribute("src")).toBe("blob:image/png");

  [...(card?.querySelectorAll("button") ?? [])].find(({ textContent }) => textContent === "Edit")?.click();
  await drawn();
  const text = card?.querySelector("textarea");
  if (text) text.value = "a";
  text?.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();

  expect(card?.textContent).toContain("Only the edited text is sent to the model, without the 1 image.");
  page.close();
});

test("the plain card, which shows no images, releases none", async () => {
  vi.stubGlobal("IntersectionObserver", Looking);
  vi.useFakeTimers();
  setModule("rich", null);
  const kernel = new Kernel({
    ...start(),
    blocks: [call({ gate: "result", shown: "a plot", media: [PNG] })],
  });
  const page = shown(kernel);
  await vi.advanceTimersByTimeAsync(600);
  const buttons = [...page.el.querySelectorAll<HTMLButtonElement>(".nb-card button")];
  const disabled = buttons.map(({ textContent, disabled }) => [textContent, disabled]);
  setModule("rich", lazyModule);
  vi.useRealTimers();

  expect(disabled).toEqual([
    ["Release", true],
    ["Withhold", false],
  ]);
  page.close();
});

test("what is left out is counted", async () => {
  const document = turn(PNG);
  const blocks = document.blocks.map((block) => ({ ...block, media_left_out: 3 }));
  const page = shown(new Kernel({ ...document, blocks }));
  await drawn();

  expect(page.el.querySelector(".nb-media")?.textContent).toContain("3 more not shown");
  page.close();
});

test("a saved image is part of the turn as far as the notebook has room for it", () => {
  const saved = (data: string): unknown => {
    const { head, blocks } = turn({ ...PNG, data });
    return { v: 1, head: { ...head, status: "completed" }, blocks };
  };
  const room = schema.mediaLimit;

  expect(parseSavedTurn(saved("iVBORw0KGgo="))).not.toBeNull();
  expect(parseSavedTurn(saved("A".repeat(room)))).not.toBeNull();
  expect(parseSavedTurn(saved("A".repeat(room + 1)))).toBeNull();
  expect(parseSavedTurn(saved("<svg>"))).toBeNull();
});
