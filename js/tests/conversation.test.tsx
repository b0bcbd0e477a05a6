import { expect, test, vi } from "vitest";
import widget from "../src/conversation/index";
import type { Document } from "../src/protocol";
import { dangers, drawn, Kernel, start } from "./page";

const HOSTILE = "<img src=x onerror=alert(1)> \u202eabc";

function turn(id: string, text: string, cells: Record<string, string> = {}): object {
  const block = { id: "b0", kind: "text", text, refusal: false, state: "whole", more: {} };
  const { head } = start();
  const known = { ...head, turn_id: id, status: "completed", acts: Object.keys(cells) };
  return { prompt: `Question of ${id}`, cells, document: { ...start(), head: known, blocks: [block] } };
}

function shown(): { kernel: Kernel; el: HTMLElement; close: () => void } {
  const kernel = new Kernel();
  Object.assign(kernel.traits, { title: "The conversation", magic: "%%chat -c notes" });
  const el = document.createElement("div");
  document.body.append(el);
  return { kernel, el, close: widget.render({ model: kernel, el }) };
}

async function told(kernel: Kernel, turns: object[], more: object = {}): Promise<void> {
  const { id } = kernel.of("hello").at(-1) ?? {};
  const conversation = { left_out: 0, turns, ...more };
  kernel.emit("msg:custom", { v: 1, kind: "conversation", id, conversation });
  await drawn();
}

test("the line is read in order, and what a turn offers is the cell that the kernel wrote", async () => {
  const { kernel, el, close } = shown();
  await told(kernel, [turn("t1", "*One*", { rerun: "%%chat --rerun t1" }), turn("t2", HOSTILE)]);
  const read = [...el.querySelectorAll("article")].map(({ textContent }) => textContent);

  el.querySelector<HTMLButtonElement>("article footer button:last-child")?.click();
  await drawn();

  expect(read).toHaveLength(2);
  expect(read[0]).toContain("Question of t1One");
  expect([...el.querySelectorAll(".nb-number")].map(({ textContent }) => textContent)).toEqual(["1", "2"]);
  expect(read[1]).toContain("<img src=x");
  expect(dangers(el).filter((one) => !one.startsWith("ARTICLE"))).toEqual([]);
  expect(el.querySelector(".nb-inserted-cell pre")?.textContent).toBe("%%chat --rerun t1");
  close();
});

test("the export of the conversation is a cell", async () => {
  const { kernel, el, close } = shown();
  await told(kernel, [turn("t1", "One")]);
  const buttons = [...el.querySelectorAll<HTMLButtonElement>("header button")];
  buttons.find(({ textContent }) => textContent === "Export")?.click();
  await drawn();

  expect(el.querySelector(".nb-inserted-cell pre")?.textContent).toBe("%chat -c notes export md");
  close();
});

test("what is sent from the box is a cell, of this conversation, and nothing is said to the kernel", async () => {
  const { kernel, el, close } = shown();
  await told(kernel, [turn("t1", "One")]);
  const box = el.querySelector("textarea");
  const before = kernel.said.length;
  if (box) box.value = " And then? ";
  box?.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();

  box?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await drawn();

  expect(el.querySelector(".nb-inserted-cell pre")?.textContent).toBe("%%chat -c notes\nAnd then?");
  expect(kernel.said.length).toBe(before);
  expect(box?.value).toBe("");
  close();
  expect(kernel.listeners()).toBe(0);
});

test("the next prompt is for the model that was chosen, and one that cannot be used cannot be chosen", async () => {
  const { kernel, el, close } = shown();
  const models = [
    { name: "practice:fast", note: "the model of this chat", magic: "%%chat" },
    { name: "a:b<c>", note: "", magic: "%%chat -m 'a:b<c>'" },
    { name: "openai:x", note: "no key: OPENAI_API_KEY is not set", magic: "" },
  ];
  await told(kernel, [turn("t1", "One")], { models });
  const select = el.querySelector<HTMLSelectElement>("select") as HTMLSelectElement;
  expect([...select.options].map(({ text, disabled }) => [text, disabled])).toEqual([
    ["practice:fast (the model of this chat)", false],
    ["a:b<c>", false],
    ["openai:x (no key: OPENAI_API_KEY is not set)", true],
  ]);
  expect(select.value).toBe("practice:fast");

  for (const [name, first] of [
    ["a:b<c>", "%%chat -m 'a:b<c>'"],
    ["practice:fast", "%%chat"],
  ] as const) {
    select.value = name;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await drawn();
    expect(select.title).toContain(name);
    const box = el.querySelector("textarea");
    if (box) box.value = "And then?";
    box?.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn();
    box?.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    await drawn();
    expect(el.querySelector(".nb-inserted-cell pre")?.textContent).toBe(`${first}\nAnd then?`);
  }
  close();
});

test("models that are none change nothing", async () => {
  const { kernel, el, close } = shown();
  await told(kernel, [turn("t1", "One")], { models: [{ name: "x" }] });

  expect(el.querySelector("article")).toBeNull();
  close();
});

test.each([
  ["a line break", { shiftKey: true }],
  ["a character that is composed", { isComposing: true }],
  ["a character that is composed, in Safari", { keyCode: 229 }],
  ["a key that is held down", { repeat: true }],
])("Enter for %s sends nothing", async (_, how) => {
  const { kernel, el, close } = shown();
  await told(kernel, [turn("t1", "One")]);
  const box = el.querySelector("textarea");
  if (box) box.value = "And then?";
  box?.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();

  const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...how });
  box?.dispatchEvent(event);
  await drawn();

  expect(el.querySelector(".nb-inserted-cell")).toBeNull();
  expect(box?.value).toBe("And then?");
  expect(event.defaultPrevented).toBe("repeat" in how);
  close();
});

test("an answer that is none, or was not asked for, changes nothing; a newer one takes the place of the last", async () => {
  const { kernel, el, close } = shown();
  const answer = { left_out: 0, turns: [turn("t9", "Nine")] };
  kernel.emit("msg:custom", { v: 1, kind: "conversation", id: "x", conversation: answer });
  const { id } = kernel.of("hello")[0] ?? {};
  kernel.emit("msg:custom", { v: 1, kind: "conversation", id, conversation: { turns: [{}], left_out: 0 } });
  await drawn();
  const before = el.querySelectorAll("article").length;
  await told(kernel, [turn("t1", "One")]);

  el.querySelector<HTMLButtonElement>("header button:last-child")?.click();
  await told(kernel, [turn("t1", "One"), turn("t2", "Two")]);

  expect(before).toBe(0);
  expect(el.querySelectorAll("article")).toHaveLength(2);
  close();
});

test("an image of a turn is asked for by the turn and its key, and shown in it", async () => {
  vi.stubGlobal("IntersectionObserver", undefined);
  const address = vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:image/png");
  const { kernel, el, close } = shown();
  const key = "0123456789abcdef0123456789abcdef";
  const { prompt, cells, document } = turn("t1", "One") as {
    prompt: string;
    cells: object;
    document: Document;
  };
  const attached = [{ key, mime: "image/png", name: "plot", size: 9 }];
  await told(kernel, [{ prompt, cells, document: { ...document, head: { ...document.head, attached } } }]);

  kernel.emit("msg:custom", { v: 1, kind: "media", key }, [new DataView(new ArrayBuffer(9))]);
  await drawn();

  expect(kernel.of("media").map((asked) => [asked.turn, asked.key])).toEqual([["t1", key]]);
  expect(el.querySelector("article img")?.getAttribute("src")).toBe("blob:image/png");
  close();
  address.mockRestore();
  vi.unstubAllGlobals();
});
