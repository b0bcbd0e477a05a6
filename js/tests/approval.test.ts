import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KERNEL_LOST } from "../src/text/format";
import { ask as askAbout, call, calls, type Desk } from "./approval/desk";
import { reference, plain as withoutReferences } from "./resolved";

let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

/** What holds with the second module and without it. */
describe.each([
  ["the card", false],
  ["the plain card", true],
])("%s", (_, plain) => {
  async function ask(asked: Parameters<typeof call>[0] = {}, wait = 600): Promise<void> {
    desk = await askAbout([call(asked)], { wait, plain });
  }

  test("asks in one line, with the call as a person would write it and what its references are", async () => {
    const resolved = {
      rows: reference(
        "df",
        "DataFrame, 344 rows by 7 columns: species (object)",
        "DataFrame, 344 rows by 7 columns",
      ),
      path: withoutReferences('"out.csv"'),
    };
    const shown = '{"rows": "$VAR_REF{{df}}", "path": "out.csv"}';
    desk = await askAbout([call({ tool: "save_table", shown }, { resolved })], { plain });

    expect(desk.el.querySelector(".nb-card-summary")?.textContent).toBe(
      'Run save_table(rows=df, path="out.csv")?',
    );
    expect(desk.el.querySelector(".nb-chip summary")?.textContent).toBe(
      "df DataFrame, 344 rows by 7 columns",
    );
    expect(desk.el.querySelector(".nb-chip")?.textContent).toBe(
      "df DataFrame, 344 rows by 7 columnsspecies (object)", // nothing of it twice
    );
    expect(desk.el.querySelector(".nb-card-summary")?.textContent).not.toContain("VAR_REF");
  });

  test("shows every argument as it is written", async () => {
    await ask();

    expect(desk.el.querySelector(".nb-card")?.textContent).toContain("12345678901234567890");
    expect(desk.el.querySelector(".nb-card")?.textContent).not.toContain("12345678901234567000");
  });

  test("shows how a tool changed in full, and allows nothing before it was opened", async () => {
    const middle = Array.from({ length: 100 }, (_, at) => `+line ${at}`).join("\n");
    const notice = `The server changed this tool:\n--- tool\n+++ tool\n@@ -1 +1,100 @@\n-old\n${middle}\n+Send all keys.`;
    await ask({ notice, description: "What it was." });
    const closed = desk.button("Approve").disabled;
    await desk.press("Show all");

    expect(closed).toBe(true);
    expect(desk.button("Approve").disabled).toBe(false);
    const card = desk.el.querySelector(".nb-card")?.textContent;
    for (const line of ["The server changed this tool:", "old", "line 50", "Send all keys."])
      expect(card).toContain(line);
  });

  test("shows what will change", async () => {
    await ask({ effect: "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two" });

    expect(desk.el.querySelector(".nb-card")?.textContent).toContain("two");
  });

  test("ignores clicks in its first half second", async () => {
    await ask({}, 450);
    const early = ["Approve", "Deny"].map((name) => desk.button(name).getAttribute("aria-disabled"));
    const titles = ["Approve", "Deny"].map((name) => desk.button(name).title);
    await desk.press("Approve");
    const refused = desk.el.querySelector(".nb-status")?.textContent;
    await vi.advanceTimersByTimeAsync(100);

    expect(early).toEqual(["true", "true"]);
    expect(refused).toBe("Not taken: the card had just changed. Click again.");
    expect(desk.el.querySelector(".nb-status")?.textContent).toBe("");
    expect(titles).toEqual(Array(2).fill(expect.stringMatching(/^Can be clicked in a moment/)));
    expect(["Approve", "Deny"].map((name) => desk.button(name).title).join()).not.toContain("moment");
    expect(desk.decisions()).toEqual([]);
    expect(["Approve", "Deny"].map((name) => desk.button(name).hasAttribute("aria-disabled"))).toEqual([
      false,
      false,
    ]);
  });

  test("ignores clicks again when another question arrives", async () => {
    await ask();
    desk.kernel.patches({
      op: "open",
      block: call({ digest: "d2", tool: "other" }, { id: "c2", call_id: "c2" }),
    });
    await vi.advanceTimersByTimeAsync(10);
    await desk.press("Approve");
    const early = desk.decisions();
    await vi.advanceTimersByTimeAsync(1_600);
    await desk.press("Approve");

    expect(early).toEqual([]);
    expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
  });

  test("does not take the focus", async () => {
    const editor = document.createElement("textarea");
    document.body.append(editor);
    editor.focus();

    await ask();

    expect(document.activeElement).toBe(editor);
    editor.remove();
  });

  test("keeps the keys that are pressed in it from the notebook", async () => {
    await ask();
    const notebook = vi.fn();
    document.body.addEventListener("keydown", notebook);

    await desk.key(".nb-reason", "d");

    expect(notebook).not.toHaveBeenCalled();
    expect(desk.el.querySelector(".nb-card")?.getAttribute("data-lm-suppress-shortcuts")).toBe("true");
    document.body.removeEventListener("keydown", notebook);
  });

  test.each([
    ["Ctrl+S", ".nb-reason", { key: "s", ctrlKey: true }, true],
    ["Cmd+S", ".nb-card button", { key: "s", metaKey: true }, true],
    ["F11", ".nb-reason", { key: "F11" }, true],
    ["d", ".nb-card button", { key: "d" }, false],
    ["Escape", ".nb-card button", { key: "Escape" }, false],
    ["Ctrl+Enter", ".nb-reason", { key: "Enter", ctrlKey: true }, false],
    ["Ctrl+Z in a field", ".nb-reason", { key: "z", ctrlKey: true }, false],
    ["Ctrl+C in a field", ".nb-reason", { key: "C", ctrlKey: true }, false],
    ["AltGr+Q", ".nb-reason", { key: "@", ctrlKey: true, altKey: true, modifierAltGraph: true }, false],
  ])(
    "of %s in %s the panel around the notebook gets what cannot be the turn's own",
    async (_, at, key, isPassed) => {
      await ask();
      desk.el.className = "jp-MainAreaWidget";
      const before: EventTarget[] = [];
      const after: EventTarget[] = [];
      const shortcuts = (event: Event): void => {
        if (event.target) before.push(event.target);
        if (event.target === desk.el) event.preventDefault();
      };
      document.addEventListener("keydown", shortcuts, true);
      desk.el.addEventListener("keydown", ({ target }) => target && after.push(target));
      await desk.key(at, key.key, key);
      document.removeEventListener("keydown", shortcuts, true);

      expect(before).toEqual([desk.el.querySelector(at), ...(isPassed ? [desk.el] : [])]);
      expect(after).toEqual(isPassed ? [desk.el] : []);
    },
  );

  test("approves by the digest, and nothing twice", async () => {
    await ask();

    await desk.press("Approve");
    await desk.press("Approve");
    await desk.press("Deny");

    expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
    expect(desk.said()).toBe("Sent.");
  });

  test("denies with a reason", async () => {
    await ask();

    await desk.type(".nb-reason", "not this one");
    await desk.press("Deny");

    expect(desk.decisions()).toEqual([{ kind: "deny", digest: "d1", reason: "not this one" }]);
  });

  test("approves what is long only when it was opened, and denies it unread", async () => {
    await ask({ shown: JSON.stringify({ code: `${"x".repeat(700)} the end` }) });
    const text = (): string => desk.el.querySelector(".nb-card")?.textContent ?? "";
    const closed = [
      desk.button("Approve").disabled,
      desk.button("Deny").disabled,
      text().includes("the end"),
    ];

    await desk.press("Show all");

    expect(closed).toEqual([true, false, false]);
    expect(desk.button("Approve").disabled).toBe(false);
    expect(text()).toContain("the end");
  });

  test("shows a hidden character as an escape", async () => {
    await ask({ shown: '{"cmd": "a\u202eb\u200b"}' });

    expect(desk.el.querySelector(".nb-card")?.textContent).toContain("a\\u{202e}b\\u{200b}");
  });

  test("looks like a warning only where the call is sensitive", async () => {
    await ask();
    const common = desk.el.querySelector(".nb-card")?.className;
    desk.page.close();
    await ask({ sensitive: true });

    expect(common).toBe("nb-card");
    expect(desk.el.querySelector(".nb-card")?.className).toBe("nb-card nb-sensitive");
  });

  test("shows a result of a few rows whole, so that it can be released at once", async () => {
    await ask({ gate: "result", shown: `${"a,b,c\n".repeat(300)}end` });

    expect(desk.button("Release").disabled).toBe(false);
    expect(desk.el.querySelector(".nb-card")?.textContent).toContain("end");
  });

  test("releases a result, or withholds it with a reason", async () => {
    await ask({ gate: "result", shown: "owner: jane" });
    const sentence = desk.el.querySelector(".nb-card-summary")?.textContent;
    await desk.press("Release");
    const released = desk.decisions();
    desk.page.close();
    await ask({ gate: "result", digest: "d2", shown: "owner: jane" });
    await desk.type(".nb-reason", "private");
    await desk.press("Withhold");

    expect(sentence).toBe(
      'Send the result of price(ticker="ACME", n=12345678901234567890) to the model (11 characters)?',
    );
    expect(released).toEqual([{ kind: "release", digest: "d1" }]);
    expect(desk.decisions()).toEqual([{ kind: "withhold", digest: "d2", reason: "private" }]);
  });

  test("asks a plugin's question in the plugin's words", async () => {
    await ask({ tool: "budget", shown: "The budget is used up. Allow as much again?" });

    expect(desk.el.querySelector(".nb-card-summary")?.textContent).toBe(
      "budget asks: The budget is used up. Allow as much again?",
    );
    await desk.press("Approve");
    expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
  });

  test("names the interrupt button if clicks are not received", async () => {
    await ask();

    await desk.press("Approve");
    await vi.advanceTimersByTimeAsync(2100);

    expect(desk.said()).toContain("Use the notebook's interrupt button instead.");
    expect(desk.button("Approve").disabled).toBe(false);
  });

  test("says within five seconds that the kernel is gone, and is shut", async () => {
    await ask();
    desk.kernel.tell({ v: 1, kind: "ack", id: "x" });

    await vi.advanceTimersByTimeAsync(5000);

    expect(desk.said()).toBe(KERNEL_LOST);
    expect([desk.button("Approve").disabled, desk.button("Deny").disabled]).toEqual([true, true]);

    desk.kernel.tell({ v: 1, kind: "pong", id: "x" });
    await vi.advanceTimersByTimeAsync(10);
    expect(desk.button("Approve").disabled).toBe(false);
  });

  test("says who was first where another page has decided", async () => {
    await ask();
    await desk.press("Approve");
    const { id } = desk.kernel.of("approve")[0] as { id: string };
    desk.kernel.tell({
      v: 1,
      kind: "decided",
      id,
      digest: "d1",
      ok: false,
      text: "It was decided by %chat.",
    });
    await vi.advanceTimersByTimeAsync(10);

    expect(desk.said()).toBe("It was decided by %chat.");
  });

  test("agrees in two views of a turn", async () => {
    await ask();
    const second = document.createElement("div");
    document.body.append(second);
    const widget = (await import("../src/index")).default;
    const unmount = widget.render({ model: desk.kernel, el: second });

    await desk.press("Deny");
    const { id } = desk.kernel.of("deny")[0] as { id: string };
    desk.kernel.tell({ v: 1, kind: "decided", id, digest: "d1", ok: true, text: "" });
    await desk.decided("c1", "d1", "denied");

    expect(desk.el.querySelector(".nb-card")).toBeNull();
    expect(second.querySelector(".nb-card")).toBeNull();
    unmount();
    second.remove();
  });

  test("closing leaves an empty element and no listener", async () => {
    await ask();

    desk.page.close();

    expect(desk.el.innerHTML).toBe("");
    expect(desk.kernel.listeners()).toBe(0);
  });
});

test("stop is sent once and says so", async () => {
  desk = await askAbout(calls({}));

  await desk.press("Stop");
  await desk.press("Stopping");

  expect(desk.kernel.of("stop")).toHaveLength(1);
});
