import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connectTurn } from "../src/kernel/turn";
import type { Block } from "../src/protocol";
import { Kernel, start } from "./page";

const prose = (text: string): Block => ({
  id: "1",
  kind: "text",
  text,
  refusal: false,
  state: "open",
  more: {},
});

let life: AbortController;
beforeEach(() => {
  vi.useFakeTimers();
  life = new AbortController();
});
afterEach(() => {
  life.abort();
  vi.useRealTimers();
});

function connected(kernel = new Kernel()): { kernel: Kernel; page: ReturnType<typeof connectTurn> } {
  return { kernel, page: connectTurn(kernel, life.signal) };
}

test("every message has the version, the turn, the nonce and a unique id", () => {
  const { kernel, page } = connected();

  page.sendHello();
  page.stop();

  const [hello, stop] = kernel.said;
  expect(hello).toMatchObject({ v: 1, turn: kernel.traits.turn_id, nonce: "n", kind: "hello" });
  expect(stop?.id).not.toBe(hello?.id);
  expect(String(stop?.id)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
});

test("a view whose comm was closed while its model was created is shown, and asks in vain", () => {
  const kernel = new Kernel();
  kernel.send = () => {
    throw new Error("Cannot send");
  };
  const { page } = connected(kernel);

  page.sendHello();
  vi.advanceTimersByTime(60_000);

  expect(page.state().link).toBe("noReply");
});

test("patches are applied once, in order, and listeners hear of it until they undo", () => {
  const { kernel, page } = connected();
  const heard = vi.fn();
  const undo = page.subscribe(heard);

  kernel.patches({ op: "open", block: prose("a") });
  kernel.patches({ op: "extend", id: "1", field: "text", text: "b" });
  undo();
  kernel.patches({ op: "extend", id: "1", field: "text", text: "c" });

  expect(page.state().document.blocks).toEqual([prose("abc")]);
  expect(heard).toHaveBeenCalledTimes(2);
});

test("after a gap nothing is applied until a snapshot arrives", () => {
  const { kernel, page } = connected();
  kernel.patches({ op: "open", block: prose("a") });

  kernel.lose();
  kernel.patches({ op: "extend", id: "1", field: "text", text: "c" });
  kernel.patches({ op: "extend", id: "1", field: "text", text: "d" });
  const broken = page.state().document.blocks;
  kernel.tell({ v: 1, kind: "snapshot", seq: 4, document: { ...start(), blocks: [prose("abcd")] } });
  kernel.patches({ op: "extend", id: "1", field: "text", text: "e" });

  expect(broken).toEqual([prose("a")]);
  expect(kernel.of("resync")).toHaveLength(1);
  expect(page.state().document.blocks).toEqual([prose("abcde")]);
});

test("a snapshot that was asked for in vain is asked for again", () => {
  const { kernel } = connected();

  kernel.lose();
  kernel.patches({ op: "open", block: prose("a") });
  vi.advanceTimersByTime(2500);
  kernel.patches({ op: "extend", id: "1", field: "text", text: "b" });

  expect(kernel.of("resync")).toHaveLength(2);
});

test.each([
  null,
  "x",
  {},
  { v: 2, kind: "ack", id: "1" },
  { v: 1, kind: "patches", seq: 1, patches: [{ op: "eval" }] },
  { v: 1, kind: "snapshot", seq: 1, document: {} },
])("%j is not a message of the kernel", (message) => {
  const { kernel, page } = connected();
  const before = page.state();

  kernel.emit("msg:custom", message);

  expect(page.state()).toBe(before);
});

test("hello is said until the kernel answers, and then no more", () => {
  const { kernel, page } = connected();
  page.sendHello();
  vi.advanceTimersByTime(1500);
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[0]?.id) });

  vi.advanceTimersByTime(10_000);

  expect(kernel.of("hello")).toHaveLength(2);
  expect(page.state().link).not.toBe("noReply");
});

test("a view that is drawn after the kernel answered the page says so, and says so again when it is drawn anew", () => {
  const { kernel, page } = connected();
  page.sendPresence();
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[0]?.id) });
  page.sendHello();
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[1]?.id) });
  page.sendGone(() => true);
  page.sendHello();

  expect(kernel.said.map(({ kind }) => kind)).toEqual(["present", "hello", "gone", "hello"]);
});

test("the view of a turn that is over goes without a word", () => {
  const { kernel, page } = connected();
  kernel.patches({ op: "head", set: { status: "completed" } });

  page.sendGone(() => true);

  expect(kernel.said).toHaveLength(0);
});

test("a kernel that never answers hello cannot hear the page", () => {
  const { kernel, page } = connected();

  page.sendHello();
  vi.advanceTimersByTime(5000);

  expect(page.state().link).toBe("noReply");
  expect(kernel.of("ping")).toHaveLength(0);
});

test("a click that is not acknowledged within two seconds is said to be unheard", () => {
  const { kernel, page } = connected();

  page.decide({ kind: "approve", digest: "d" });
  const sent = page.state().requests.d;
  vi.advanceTimersByTime(2000);
  const unheard = page.state().requests.d;
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[0]?.id) });

  expect([sent, unheard, page.state().requests.d]).toEqual([
    { state: "sent" },
    { state: "noReply" },
    { state: "accepted", text: "" },
  ]);
});

test("a double click decides once", () => {
  const { kernel, page } = connected();

  page.decide({ kind: "approve", digest: "d" });
  page.decide({ kind: "deny", digest: "d" });

  expect(kernel.said).toHaveLength(1);
});

test("a late decision is reported with the kernel's message", () => {
  const { kernel, page } = connected();
  page.decide({ kind: "approve", digest: "d" });

  const id = String(kernel.said[0]?.id);
  kernel.tell({ v: 1, kind: "decided", id, digest: "d", ok: false, text: "Already decided by input." });
  kernel.tell({ v: 1, kind: "ack", id });

  expect(page.state().requests.d).toEqual({ state: "refused", text: "Already decided by input." });
});

test("a kernel that falls silent is said to be gone within five seconds, and found again when it speaks", () => {
  const { kernel, page } = connected();
  page.sendHello();
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[0]?.id) });

  vi.advanceTimersByTime(5000);
  const silent = page.state().link;
  kernel.patches({ op: "open", block: prose("a") });

  expect(silent).toBe("lost");
  expect(page.state().link).toBe("open");
});

test("a kernel that answers its pings is there", () => {
  const { kernel, page } = connected();
  page.sendHello();
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[0]?.id) });

  for (let second = 0; second < 60; second++) {
    vi.advanceTimersByTime(1000);
    const ping = kernel.of("ping").at(-1);
    if (ping) kernel.tell({ v: 1, kind: "pong", id: String(ping.id) });
  }

  expect(page.state().link).toBe("open");
});

test("a turn that is over is not asked for signs of life", () => {
  const { kernel, page } = connected();
  page.sendHello();
  kernel.tell({ v: 1, kind: "ack", id: String(kernel.said[0]?.id) });
  kernel.patches({ op: "head", set: { status: "completed" } });

  vi.advanceTimersByTime(60_000);

  expect(kernel.of("ping")).toHaveLength(0);
  expect(page.state().link).toBe("open");
});

test("the last snapshot of a turn is taken over even when messages were lost", () => {
  const { kernel, page } = connected();
  const last = { ...start(), blocks: [prose("whole")] };
  kernel.traits.snapshot = { ...last, head: { ...last.head, status: "completed" } };

  kernel.emit("change:snapshot");

  expect(page.state().document.blocks).toEqual([prose("whole")]);
});

test("the end of its life leaves no listener and no timer", () => {
  const { kernel, page } = connected();
  page.sendHello();
  page.stop();

  life.abort();

  expect(kernel.listeners()).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("a message is also posted to the channel of a widget that listens for that, once by its id", async () => {
  const kernel = new Kernel();
  Object.assign(kernel.traits, { broadcasts: true, place: "w1" });
  const { page } = connected(kernel);
  vi.useRealTimers();
  const channel = new BroadcastChannel("nbtool.w1");
  const heard = new Promise((resolve) => {
    channel.onmessage = (event: { data: unknown }) => resolve(event.data);
  });

  page.stop();

  expect(JSON.parse(String(await heard))).toEqual(kernel.said[0]);
  channel.close();
});
