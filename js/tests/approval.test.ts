import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Asked, CallBlock } from "../src/protocol";
import { Kernel, shown, start } from "./page";

const ARGUMENTS = '{"ticker":"ACME","n":12345678901234567890}';

function call(asked: Partial<Asked> = {}): CallBlock {
  const question: Asked = {
    gate: "run",
    digest: "d1",
    tool: "price",
    shown: ARGUMENTS,
    description: "Latest close.",
    schema: {},
    can_remember: true,
    ...asked,
  };
  return {
    id: "c1",
    kind: "call",
    call_id: "c1",
    name: "price",
    round: 1,
    arguments: ARGUMENTS,
    resolved: {},
    repaired: [],
    state: "waiting",
    question,
    decisions: [],
    progress: "",
    fraction: null,
    result: "",
    reason: "",
    reference: "",
    started: null,
    seconds: null,
    more: {},
  };
}

let kernel: Kernel;
let page: ReturnType<typeof shown>;

async function ask(asked: Partial<Asked> = {}, wait = 600): Promise<void> {
  kernel = new Kernel({ ...start(), blocks: [call(asked)] });
  page = shown(kernel);
  await vi.advanceTimersByTimeAsync(wait);
}

function button(name: string): HTMLButtonElement {
  const found = [...page.el.querySelectorAll("button")].find((each) => each.textContent?.startsWith(name));
  if (!found) throw new Error(`no button ${name} in ${page.el.textContent}`);
  return found;
}

async function press(name: string): Promise<void> {
  button(name).click();
  await vi.advanceTimersByTimeAsync(10);
}

async function type(selector: string, value: string): Promise<void> {
  const field = page.el.querySelector<HTMLInputElement>(selector);
  if (!field) throw new Error(`no ${selector}`);
  field.value = value;
  field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  await vi.advanceTimersByTimeAsync(10);
}

const decisions = (): unknown[] =>
  kernel.said.filter(({ digest }) => digest).map(({ v, turn, nonce, id, ...rest }) => rest);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  page.close();
  vi.useRealTimers();
});

test("the card says what will happen, with the arguments as they are", async () => {
  await ask();

  const card = page.el.querySelector(".nb-card");
  expect(card?.querySelector(".nb-ask")?.textContent).toBe("Run price? Latest close.");
  expect(card?.querySelector("pre")?.textContent).toBe(
    '{\n  "ticker": "ACME",\n  "n": 12345678901234567890\n}',
  );
});

test("nothing can be pressed in the first half second", async () => {
  await ask({}, 450);
  const early = [button("Approve").disabled, button("Deny").disabled];
  await press("Approve");
  await vi.advanceTimersByTimeAsync(100);

  expect(early).toEqual([true, true]);
  expect(decisions()).toEqual([]);
  expect([button("Approve").disabled, button("Deny").disabled]).toEqual([false, false]);
});

test("the card does not take the focus", async () => {
  const editor = document.createElement("textarea");
  document.body.append(editor);
  editor.focus();

  await ask();

  expect(document.activeElement).toBe(editor);
  editor.remove();
});

test("keys pressed in the card do not reach the notebook", async () => {
  await ask();
  const notebook = vi.fn();
  document.body.addEventListener("keydown", notebook);

  page.el
    .querySelector(".nb-reason")
    ?.dispatchEvent(new KeyboardEvent("keydown", { key: "d", bubbles: true }));

  expect(notebook).not.toHaveBeenCalled();
  expect(page.el.querySelector(".nb-card")?.getAttribute("data-lm-suppress-shortcuts")).toBe("true");
  document.body.removeEventListener("keydown", notebook);
});

test("approve carries the digest, and nothing is pressed twice", async () => {
  await ask();

  await press("Approve");
  await press("Approve");
  await press("Deny");

  expect(decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
  expect(page.el.querySelector(".nb-said")?.textContent).toBe("Sent.");
});

test.each(["call", "tool"])("an approval can be remembered for this %s", async (scope) => {
  await ask();

  await type("select", scope);
  await press("Approve");

  expect(decisions()).toEqual([{ kind: "approve", digest: "d1", remember: scope }]);
});

test("what may not be remembered is not offered to be", async () => {
  await ask({ can_remember: false });

  expect(page.el.querySelector("select")).toBeNull();
});

test("a denial carries the reason", async () => {
  await ask();

  await type(".nb-reason", "not this one");
  await press("Deny");

  expect(decisions()).toEqual([{ kind: "deny", digest: "d1", reason: "not this one" }]);
});

test("edited arguments leave as the text that was typed, and only when they are an object", async () => {
  await ask();
  await press("Edit");

  await type("textarea", "[1]");
  const broken = button("Approve").disabled;
  await type("textarea", '{"n": 98765432109876543210}');
  await press("Approve as edited");

  expect(broken).toBe(true);
  expect(decisions()).toEqual([{ kind: "approve", digest: "d1", arguments: '{"n": 98765432109876543210}' }]);
});

test("long arguments must be opened before they can be approved, and can be denied unread", async () => {
  await ask({ shown: JSON.stringify({ code: `${"x".repeat(700)} the end` }) });
  const closed = [
    button("Approve").disabled,
    button("Deny").disabled,
    page.el.textContent?.includes("the end"),
  ];

  await press("Show all");

  expect(closed).toEqual([true, false, false]);
  expect(button("Approve").disabled).toBe(false);
  expect(page.el.querySelector(".nb-card pre")?.textContent).toContain("the end");
});

test("a hidden character is shown as an escape", async () => {
  await ask({ shown: '{"cmd": "a\u202eb\u200b"}' });

  expect(page.el.querySelector(".nb-card pre")?.textContent).toContain("a\\u{202e}b\\u{200b}");
});

test("a result is released as it is, or as edited, or withheld with a reason", async () => {
  await ask({ gate: "result", shown: "owner: jane" });
  await press("Edit");
  await type("textarea", "owner: [redacted]");

  await press("Release as edited");

  expect(page.el.querySelector(".nb-ask")?.textContent).toContain("Let the model read the result of price?");
  expect(decisions()).toEqual([{ kind: "release", digest: "d1", text: "owner: [redacted]" }]);
  page.close();

  await ask({ gate: "result", digest: "d2" });
  await type(".nb-reason", "private");
  await press("Withhold");

  expect(decisions()).toEqual([{ kind: "withhold", digest: "d2", reason: "private" }]);
});

test("a click that nobody hears leads to the interrupt button", async () => {
  await ask();

  await press("Approve");
  await vi.advanceTimersByTimeAsync(2100);

  expect(page.el.querySelector(".nb-said")?.textContent).toContain(
    "Press the kernel's interrupt button instead.",
  );
  expect(button("Approve").disabled).toBe(false);
});

test("two views of a turn agree", async () => {
  await ask();
  const second = document.createElement("div");
  const widget = (await import("../src/index")).default;
  const unmount = widget.render({ model: kernel, el: second });

  await press("Deny");
  kernel.patches({ op: "update", id: "c1", set: { question: null, state: "denied" } });
  await vi.advanceTimersByTimeAsync(10);

  expect(page.el.querySelector(".nb-card")).toBeNull();
  expect(second.querySelector(".nb-card")).toBeNull();
  expect(second.textContent).toBe(page.el.textContent);
  unmount();
});

test("stop is sent once and says so", async () => {
  await ask();

  await press("Stop");
  await press("Stopping");

  expect(kernel.of("stop")).toHaveLength(1);
});

test("closing leaves an empty element and no listener", async () => {
  await ask();

  page.close();

  expect(page.el.innerHTML).toBe("");
  expect(kernel.listeners()).toBe(0);
});
