import { readFileSync } from "node:fs";
import { render } from "preact";
import { expect, test, vi } from "vitest";
import { lineOf } from "../src/lab/line";
import type { Comm, IopubMessage, NotebookPanel } from "../src/lab/types";
import type { Document } from "../src/protocol";
import { type OfflineConnection, offlineConnection } from "../src/saved/offline";
import { Saved } from "../src/saved/Saved";
import { drawn } from "./page";

/** Draw a saved turn in the page. */
async function draw(turn: OfflineConnection) {
  const el = document.createElement("div");
  document.body.append(el);
  render(<Saved connection={turn} />, el);
  await drawn();
  const close = (): void => {
    render(null, el);
    el.remove();
  };
  return { el, close, next: drawn };
}

const LEFT = "Not on the current line: later prompts do not see it.";
const SAVED = `${LEFT} \`%chat branch turn_1 --switch\` goes back here.`;

function savedTurn(): Document {
  const file = `${import.meta.dirname}/recorded/finished.json`;
  const { document } = JSON.parse(readFileSync(file, "utf8")) as { document: Document };
  const notice = { id: "left", kind: "notice", text: SAVED, level: "info" } as const;
  return { ...document, blocks: [...document.blocks, notice] };
}

/** A notebook whose kernel says this of its turns; `run` is a cell that ends there. */
function notebook(notes: () => Record<string, string> | null) {
  const asked: { turns?: string[] }[] = [];
  const listeners: ((sender: unknown, message: IopubMessage) => void)[] = [];
  const comm: Comm = {
    onMsg: undefined,
    onClose: undefined,
    open(request) {
      asked.push(request);
      const said = notes();
      if (said) comm.onMsg?.({ content: { data: { v: 1, ok: true, text: "", notes: said } } });
      else comm.onClose?.();
    },
    close: () => {},
  };
  const panel = {
    sessionContext: {
      session: { kernel: { createComm: () => comm } },
      iopubMessage: { connect: (one: (typeof listeners)[number]) => listeners.push(one), disconnect() {} },
    },
  } as unknown as NotebookPanel;
  const tell = (msg_type: string, content: IopubMessage["content"], parent = "execute_request"): void => {
    const message = { header: { msg_type }, parent_header: { msg_type: parent }, content };
    for (const listener of listeners) listener(null, message);
  };
  return {
    line: lineOf(panel),
    asked,
    restart: () => tell("status", { execution_state: "starting" }, ""),
    run(code: string): void {
      tell("execute_input", { code });
      tell("status", { execution_state: "idle" });
    },
  };
}

test("all turns that are drawn are asked about once, and again after a cell about a chat", async () => {
  let notes: Record<string, string> = { one: LEFT, two: "" };
  const { line, asked, run } = notebook(() => notes);
  const shown: Record<string, string[]> = { one: [], two: [], other: [] };
  for (const turn of Object.keys(shown))
    line.add({ turn, isDoubtful: true, show: (note) => shown[turn]?.push(note) });
  await vi.waitFor(() => expect(shown).toEqual({ one: [LEFT], two: [""], other: [] }));

  run("x = 1");
  notes = { one: "", two: LEFT };
  run("%chat branch b2");

  await vi.waitFor(() => expect(shown).toEqual({ one: [LEFT, ""], two: ["", LEFT], other: [] }));
  expect(asked.map(({ turns }) => turns)).toEqual([
    ["one", "two", "other"],
    ["one", "two", "other"],
  ]);
});

test("a turn that is no longer drawn is not asked about, and what the kernel does not say stays", async () => {
  const { line, asked, run } = notebook(() => null);
  const view = { turn: "one", isDoubtful: true, show: vi.fn() };
  line.add(view);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  line.remove(view);

  run("%chat status");
  await new Promise((resolve) => setTimeout(resolve, 200));

  expect(asked).toHaveLength(1);
  expect(view.show).not.toHaveBeenCalled();
});

test("what a running cell shows is asked about only once another kernel runs", async () => {
  const { line, asked, run, restart } = notebook(() => ({ one: LEFT }));
  const view = { turn: "one", isDoubtful: false, show: vi.fn() };
  line.add(view);
  run("%%chat\nHello.");
  await new Promise((resolve) => setTimeout(resolve, 200));
  const before = asked.length;

  restart();
  run("%chat open chat_1");

  await vi.waitFor(() => expect(view.show).toHaveBeenCalledWith(LEFT));
  expect(before).toBe(0);
});

test("what the file says of the current line is shown until the kernel says something else", async () => {
  const turn = offlineConnection(savedTurn(), () => {});
  const actions = { goBack: vi.fn(), name: vi.fn() };
  const page = await draw(turn);
  const before = page.el.textContent;

  turn.setLine("", actions);
  await page.next();

  expect(before).toContain("goes back here.");
  expect(page.el.textContent).not.toContain(LEFT);
  page.close();
});

test("the note goes back by a click, and names the branch by the keys alone", async () => {
  const turn = offlineConnection(savedTurn(), () => {});
  const actions = { goBack: vi.fn(), name: vi.fn() };
  const page = await draw(turn);
  turn.setLine(LEFT, actions);
  await page.next();
  const button = (name: string): HTMLButtonElement | undefined =>
    [...page.el.querySelectorAll("button")].find((one) => one.textContent?.startsWith(name));
  const press = (key: string): void => {
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  };

  button("Go back here")?.click();
  button("Copy to a chat")?.click();
  await page.next();
  const field = page.el.querySelector<HTMLInputElement>("input.nb-reason");
  expect(document.activeElement).toBe(field);
  press("Escape");
  await page.next();
  expect(document.activeElement).toBe(button("Copy to a chat"));
  button("Copy to a chat")?.click();
  await page.next();
  const again = page.el.querySelector<HTMLInputElement>("input.nb-reason");
  if (again) again.value = "other";
  again?.dispatchEvent(new Event("input", { bubbles: true }));
  await page.next();
  press("Enter");
  await page.next();

  expect(actions.goBack).toHaveBeenCalledOnce();
  expect(actions.name.mock.calls).toEqual([["other"]]);
  expect(page.el.querySelector("input.nb-reason")).toBeNull();
  page.close();
});
