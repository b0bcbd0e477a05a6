import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { MapData, MapStateMessage } from "../src/generated";
import widget from "../src/map/index";
import type { Model } from "../src/model";
import { NO_REPLY } from "../src/text/format";

const RUNNING: MapData = {
  status: "running",
  done: 10,
  total: 100,
  label: "10 of 100 prompts",
  facts: [
    { kind: "rate", text: "30 prompts a minute" },
    { kind: "left", text: "about 3 min left" },
  ],
  failures: [],
  other_failures: 0,
  reason: "",
  fix: "",
};

/** A kernel made of what the page said, and who listens. */
class Kernel implements Model {
  said: { kind?: string; id?: string; nonce?: string }[] = [];
  #listeners = new Set<(content: unknown) => void>();
  #traits: Record<string, unknown>;

  constructor(snapshot: unknown = RUNNING, traits: Record<string, unknown> = {}) {
    this.#traits = { nonce: `n${Math.random()}`, snapshot, ...traits };
  }

  get = (name: string): unknown => this.#traits[name];
  send = (content: unknown): void => void this.said.push(content as { kind?: string });
  on = (event: string, listener: (content: unknown) => void): void =>
    void (event === "msg:custom" && this.#listeners.add(listener));
  off = (_: string, listener: (content: unknown) => void): void => void this.#listeners.delete(listener);

  tell(message: unknown): void {
    for (const listener of this.#listeners) listener(message);
  }

  show(change: Partial<MapData>): void {
    this.tell({ v: 1, kind: "map", map: { ...RUNNING, ...change } } satisfies MapStateMessage);
  }

  acknowledge(kind: string): void {
    for (const { id } of this.of(kind)) this.tell({ v: 1, kind: "ack", id });
  }

  of(kind: string): { id?: string }[] {
    return this.said.filter((message) => message.kind === kind);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

const closers: (() => void)[] = [];
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  for (const close of closers.splice(0)) close();
  document.getElementById("nbtool-announcements")?.remove();
  vi.useRealTimers();
});

async function shown(kernel = new Kernel()): Promise<{ kernel: Kernel; el: HTMLElement; close: () => void }> {
  const el = document.createElement("div");
  document.body.append(el);
  const end = widget.initialize({ model: kernel, el });
  const unmount = widget.render({ model: kernel, el });
  const close = (): void => {
    unmount();
    end();
    el.remove();
  };
  closers.push(close);
  await drawn();
  return { kernel, el, close };
}

const drawn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(20);
const bar = (el: HTMLElement): HTMLElement | null => el.querySelector("[role=progressbar]");
const stop = (el: HTMLElement): HTMLButtonElement | null => el.querySelector("button");
const heard = (): string => document.querySelector("[role=log]")?.textContent ?? "";

test("a map is a bar with its numbers, its facts and a button", async () => {
  const { kernel, el } = await shown();

  kernel.show({ done: 25, label: "25 of 100 prompts", facts: [{ kind: "left", text: "about 2 min left" }] });
  await drawn();

  expect(bar(el)?.getAttribute("aria-valuenow")).toBe("25");
  expect(bar(el)?.getAttribute("aria-valuemax")).toBe("100");
  expect(bar(el)?.getAttribute("aria-valuetext")).toBe("25 of 100 prompts, about 2 min left");
  expect(bar(el)?.firstElementChild?.getAttribute("style")).toContain("width: 25%");
  expect(el.textContent).toContain("about 2 min left");
  expect(stop(el)?.textContent).toBe("Stop");
});

test("without a total there is a count and no bar to be seen", async () => {
  const { el } = await shown(new Kernel({ ...RUNNING, total: null, label: "10 prompts" }));

  expect(bar(el)?.className).toBe("nb-visually-hidden");
  expect(bar(el)?.hasAttribute("aria-valuenow")).toBe(false);
  expect(bar(el)?.getAttribute("aria-valuetext")).toContain("10 prompts");
  expect(el.textContent).toContain("10 prompts");
});

test("Stop is sent once, and says when the kernel has not confirmed it", async () => {
  const { kernel, el } = await shown();
  kernel.show({});
  stop(el)?.click();
  await drawn();
  stop(el)?.click();

  expect(kernel.of("stop")).toHaveLength(1);
  expect(stop(el)?.textContent).toBe("Stopping");
  expect(stop(el)?.getAttribute("aria-disabled")).toBe("true");

  await vi.advanceTimersByTimeAsync(2500);
  expect(el.querySelector("[role=alert]")?.textContent).toBe(NO_REPLY);
  kernel.acknowledge("stop");
  await drawn();
  expect(el.querySelector("[role=alert]")).toBeNull();
  expect(stop(el)?.textContent).toBe("Stopping");
});

test("a kernel that no longer answers is said to be lost, until it answers", async () => {
  const { kernel, el } = await shown();
  kernel.show({});
  await vi.advanceTimersByTimeAsync(8000);

  expect(kernel.of("ping").length).toBeGreaterThan(0);
  expect(el.querySelector("[role=alert]")?.textContent).toContain("does not respond");

  kernel.show({ done: 11 });
  await drawn();
  expect(el.querySelector("[role=alert]")).toBeNull();
});

test("texts of the kernel are text, bounded, with nothing invisible", async () => {
  const text = `<img src=x onerror=alert(1)> \u202e ${"x".repeat(100_000)}`;
  const { el } = await shown(
    new Kernel({
      ...RUNNING,
      label: text,
      reason: text,
      facts: [{ kind: "cost", text }],
      failures: [{ text, count: 2 }],
      other_failures: 3,
    }),
  );

  expect(el.querySelector("img")).toBeNull();
  expect(el.textContent).toContain("2 failed: <img src=x onerror=alert(1)> \\u{202e}");
  expect(el.textContent).toContain("3 failed with other messages");
  expect(el.textContent?.length).toBeLessThan(3_000);
});

test.each([
  null,
  {},
  { ...RUNNING, facts: [null] },
  { ...RUNNING, done: "1" },
  { ...RUNNING, total: undefined },
])("what is no map is not shown: %j", async (map) => {
  const { kernel, el } = await shown();
  const before = el.innerHTML;

  kernel.tell({ v: 1, kind: "map", map });
  kernel.tell({ v: 2, kind: "map", map: RUNNING });
  kernel.tell(null);
  await drawn();

  expect(el.innerHTML).toBe(before);
  expect(() => widget.render({ model: new Kernel(map), el })).toThrow("no map");
});

test("quarters and the end are announced, and nothing else", async () => {
  const { kernel } = await shown();
  const announced: string[] = [];
  for (let done = 10; done <= 100; done++) {
    kernel.show({ done, label: `${done} of 100 prompts` });
    await drawn();
    if (heard() !== announced.at(-1)) announced.push(heard());
  }
  kernel.show({ done: 100, label: "100 of 100 prompts", status: "completed" });
  await drawn();

  expect(announced).toEqual([
    "",
    "25 of 100 prompts",
    "50 of 100 prompts",
    "75 of 100 prompts",
    "100 of 100 prompts",
  ]);
  expect(heard()).toBe("100 of 100 prompts, complete");
});

test("a map that has ended has no button", async () => {
  const { kernel, el } = await shown();
  kernel.show({ status: "stopped" });
  await drawn();

  expect(stop(el)).toBeNull();
  expect(heard()).toContain("stopped");
});

test("two views of one map share a connection, and the last one leaves nothing behind", async () => {
  const { kernel, close } = await shown();
  const second = document.createElement("div");
  const unmount = widget.render({ model: kernel, el: second });
  await drawn();

  expect(second.textContent).toContain("10 of 100 prompts");
  expect(kernel.listeners).toBe(1);
  unmount();
  close();
  expect(kernel.listeners).toBe(0);
});

test("a page that saw the map end tells the kernel that its output was replaced", async () => {
  const { kernel } = await shown();
  kernel.tell({ v: 1, kind: "left", pages: ["p"], places: [] });
  await drawn();

  expect(kernel.of("took")).toHaveLength(1);
});

test("the dot of a running map is never faint, and a map is as wide as its cell", () => {
  const css = readFileSync(`${import.meta.dirname}/../../nbtool/view/static/map.css`, "utf8");

  expect(css).toMatch(/@keyframes nb-breathe\{50%\{scale:/);
  expect(css).not.toMatch(/\.nb-map\{[^}]*max-width/);
});

test("what travels with each map is small", () => {
  const built = `${import.meta.dirname}/../../nbtool/view/static`;
  const size = ["map.js", "map.css"].reduce(
    (sum, name) => sum + gzipSync(readFileSync(`${built}/${name}`), { level: 9 }).length,
    0,
  );

  expect(size).toBeLessThanOrEqual(13_200);
});
