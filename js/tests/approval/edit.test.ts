import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { dangers } from "../page";
import { ask, calls, type Desk } from "./desk";

const schema = {
  type: "object",
  properties: {
    ticker: { type: "string", minLength: 1 },
    n: { type: "integer", minimum: 1 },
    mode: { enum: ["w", "a"] },
  },
  required: ["ticker"],
  additionalProperties: false,
};
let desk: Desk;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

async function edit(shown = '{"ticker":"ACME","n":12345678901234567890}'): Promise<void> {
  desk = await ask(calls({ shown, schema }));
  await desk.press("Edit");
}

const problems = (): string[] =>
  [...desk.el.querySelectorAll(".nb-problem")].map((each) => each.textContent ?? "");

test("Edit looks like the buttons beside it, not like a link", async () => {
  desk = await ask(calls({ schema }));
  const button = [...desk.el.querySelectorAll("button")].find((each) => each.textContent === "Edit");

  expect(button?.className).toBe("nb-button");
});

test("an edited text is sent as JSON, and an unedited number with all its digits", async () => {
  await edit();

  await desk.type("textarea", 'GL"OB');
  await desk.press("Approve as edited");

  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1", arguments: '{"ticker": "GL\\"OB", "n": 12345678901234567890}' },
  ]);
});

test("what does not fit the schema is said beside its field and cannot be approved", async () => {
  await edit();

  await desk.type('textarea[id$="-n"]', "0");
  const low = problems();
  await desk.type('textarea[id$="-n"]', '"x"');
  const wrong = problems();
  await desk.type('textarea[id$="-n"]', "[1");
  const broken = problems();
  const field = desk.el.querySelector('textarea[id$="-n"]');
  const described = desk.el.querySelector(`[id="${field?.getAttribute("aria-describedby")}"]`);

  expect(low).toEqual(["✕ 0 is less than 1."]);
  expect(wrong).toEqual(["✕ Expected integer, not string."]);
  expect(broken).toEqual(["✕ Expected an integer, such as 3."]);
  expect(described?.textContent).toBe(broken[0]);
  expect(field?.getAttribute("aria-invalid")).toBe("true");
  expect(desk.button("Approve").disabled).toBe(true);
  await desk.key("textarea", "Enter", { ctrlKey: true });
  expect(desk.decisions()).toEqual([]);
});

const REFERENCE = { type: "string", "x-nbtool-reference": "DataFrame" };

test.each([
  ["integer", { type: "integer" }, "three", "Expected an integer, such as 3."],
  ["number", { type: "number" }, "2,5", "Expected a number, such as 2.5."],
  ["list", { type: "array" }, "1, 2", "Expected a list, such as [1, 2]."],
  [
    "list of texts",
    { type: "array", items: { type: "string" } },
    "ada@example.org",
    'Expected a list, such as ["a", "b"].',
  ],
  [
    "list or nothing",
    { anyOf: [{ type: "array", items: { type: "number" } }, { type: "null" }] },
    "2,5",
    "Expected a list, such as [1.5, 2.5], or null.",
  ],
  ["object", { type: "object" }, "name: 1", 'Expected an object, such as {"name": 1}.'],
  [
    "one of several types",
    { anyOf: [{ type: "integer" }, { type: "null" }] },
    "none",
    "Expected an integer, such as 3, or null.",
  ],
  [
    "text or number",
    { type: ["string", "number"] },
    "hello",
    "Expected a text in quotes, or a number, such as 2.5.",
  ],
  ["any type", {}, "hello", "This is not JSON: put a text in quotes."],
])("what is no JSON is refused with an example for %s", async (_, property, typed, expected) => {
  desk = await ask(calls({ shown: '{"it":1}', schema: { type: "object", properties: { it: property } } }));
  await desk.press("Edit");
  await desk.type('textarea[id$="-it"]', typed);

  expect(problems()).toEqual([`✕ ${expected}`]);
  expect(desk.button("Approve").disabled).toBe(true);
});

test.each([
  ["frame", REFERENCE, "Expected a reference, such as $VAR_REF{{name}}."],
  [
    "frame or number",
    { anyOf: [{ type: "number" }, REFERENCE] },
    "Expected number or a reference, such as $VAR_REF{{name}}.",
  ],
  [
    "frame or nothing",
    { anyOf: [REFERENCE, { type: "null" }] },
    "Expected null or a reference, such as $VAR_REF{{name}}.",
  ],
])("a text is refused where the argument is a %s", async (_, property, expected) => {
  desk = await ask(
    calls({ shown: '{"it":"$VAR_REF{{df}}"}', schema: { type: "object", properties: { it: property } } }),
  );
  await desk.press("Edit");
  await desk.type('textarea[id$="-it"]', "hello");
  const refused = problems();
  await desk.type('textarea[id$="-it"]', "$VAR_REF{{other}}");

  expect(refused).toEqual([`✕ ${expected}`]);
  expect(problems()).toEqual([]);
});

test("what the tool must have cannot be left out, and what it may have can be added", async () => {
  await edit('{"n":1}');
  const removable = (): (string | null)[] =>
    [...desk.el.querySelectorAll("[aria-label^=Remove]")].map((one) => one.getAttribute("aria-label"));

  await desk.type("textarea", "2");
  const lacking = problems();
  await desk.type('select[aria-label="Add an argument"]', "mode");
  await desk.type('select[aria-label="Add an argument"]', "ticker");
  expect(removable()).toEqual(["Remove n", "Remove mode"]);
  await desk.press("Remove");
  await desk.type('textarea[id$="-ticker"]', "GLOB");
  await desk.type('select[id$="-mode"]', '"a"');
  await desk.press("Approve as edited");

  expect(lacking).toEqual(["✕ ticker: This argument is required."]);
  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1", arguments: '{"mode": "a", "ticker": "GLOB"}' },
  ]);
});

test("an edit is shown as a diff against what the model asked, and undone", async () => {
  await edit();
  await desk.type("textarea", "GLOB");
  const lines = [...desk.el.querySelectorAll(".nb-changes > div")].map((line) => line.textContent);

  await desk.press("Undo the edit");
  await desk.press("Approve");

  expect(lines).toEqual(["−ACME", "+GLOB"]);
  expect(dangers(desk.el)).toEqual([]);
  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test.each([
  ["2.5", "n=2.5"],
  ['["a", "b c"]', 'n=["a", "b c"]'],
  ["12345678901234567890", "n=…"],
  ["[0.10]", "n=…"],
])("the line of an edited call has the new value, where %s is sure to be it", async (typed, expected) => {
  desk = await ask(calls({ shown: '{"n":1,"m":2}' }));
  await desk.press("Edit");

  await desk.type('textarea[id$="-n"]', typed);

  const line = desk.el.querySelector(".nb-card-summary")?.textContent;
  expect(line).toMatch(/^Run tool1\(n=.* as you edited it\?$/);
  expect(line).toContain(`(${expected}, m`);
});

test.each([
  ["call", "Approve and remember these arguments"],
  ["tool", "Approve every call"],
])(
  "an approval that is remembered for the %s says so on its button, and where it is taken back",
  async (scope, button) => {
    await edit();

    await desk.type('[aria-label="Remember the decision"]', scope);
    const said = desk.said();
    await desk.press(button);

    expect(said).toBe("%chat approvals lists what is remembered, and takes it back.");
    expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1", remember: scope }]);
  },
);

test("these arguments come before the tool, and only the tool is warned of", async () => {
  await edit();
  const warning = (): string | undefined => desk.el.querySelector("[role=alert]")?.textContent;
  const options = desk.el.querySelectorAll<HTMLOptionElement>('[aria-label="Remember the decision"] option');
  const scopes = [...options].map(({ value }) => value);

  await desk.type('[aria-label="Remember the decision"]', "call");
  const atCall = warning();
  await desk.type('[aria-label="Remember the decision"]', "tool");

  expect(scopes).toEqual(["", "call", "tool"]);
  expect(atCall).toBeUndefined();
  expect(warning()).toContain("This covers every later call of tool1.");
  expect(warning()).toContain("Approving these arguments only is safer.");
});

test("an edit is not remembered, and the card says so in place of the choice", async () => {
  await edit();
  const choice = (): Element | null => desk.el.querySelector('[aria-label="Remember the decision"]');
  const before = choice();

  await desk.type("textarea", "GLOB");

  expect(before).not.toBeNull();
  expect(choice()).toBeNull();
  expect(desk.el.textContent).toContain("An edited call is not remembered.");
});

test("the button for all says how many of the calls are edited", async () => {
  desk = await ask(calls({ schema }, {}));
  await desk.press("Edit");
  await desk.type("textarea", "GLOB");
  await vi.advanceTimersByTimeAsync(2_000);

  await desk.press("Approve all 2, 1 as edited");

  expect(desk.decisions()).toHaveLength(2);
});

test("the field of a text has room for its lines, also for long ones", async () => {
  await edit(JSON.stringify({ ticker: `${"a".repeat(200)}\n\nb`, n: 1 }));

  expect([...desk.el.querySelectorAll("textarea")].map(({ rows }) => Number(rows))).toEqual([5, 1]);
});

test("an edit that comes back to what was asked is no edit", async () => {
  await edit();

  await desk.type("textarea", "GLOB");
  await desk.type("textarea", "ACME");
  await desk.press("Approve");

  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test("Escape leaves the editor and keeps what was typed", async () => {
  await edit();
  await desk.type("textarea", "GLOB");
  desk.el.querySelector("textarea")?.focus();

  await desk.key("textarea", "Escape");

  expect(document.activeElement?.className).toBe("nb-item");
  expect(desk.el.querySelector("textarea")?.value).toBe("GLOB");
});

test("what cannot be seen in a field is said below it", async () => {
  await edit();

  await desk.type("textarea", "GL\u200bOB");

  expect(desk.el.querySelector(".nb-field .nb-hidden-char")?.textContent).toBe("\\u{200b}");
});

test("hidden characters that the model wrote as escapes are also listed at the field", async () => {
  await edit('{"ticker":"AC\\u0000ME","n":1}');

  await desk.type('textarea[id$="-n"]', "2");

  expect(desk.el.querySelector(".nb-field .nb-hidden-char")?.textContent).toBe("\\u{0000}");
});

test("an edited result is released as it was typed", async () => {
  desk = await ask(calls({ gate: "result", shown: "owner: jane" }));
  await desk.press("Edit");
  await desk.type("textarea", "owner: somebody");

  await desk.press("Release as edited");

  expect(desk.decisions()).toEqual([{ kind: "release", digest: "d1", text: "owner: somebody" }]);
});

test("a result that is a table is shown as one, above the text that is sent", async () => {
  const table = { columns: ["name", "n<b>"], rows: [["Jane\u202e", "1"]], more_rows: 2 };
  desk = await ask(calls({ gate: "result", shown: "  name  n\n0 Jane  1", table }));

  expect([...desk.el.querySelectorAll("th")].map((cell) => cell.textContent)).toEqual(["name", "n<b>"]);
  expect([...desk.el.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["Jane\\u{202e}", "1"]);
  expect(desk.el.textContent).toContain("… 2 rows more");
  const sent = desk.el.querySelector<HTMLDetailsElement>("details:has(pre)");
  expect(sent?.querySelector("summary")?.textContent).toBe("What is sent to the model");
  expect(sent?.open).toBe(true);
  expect(sent?.querySelector("pre")?.textContent).toBe("  name  n\n0 Jane  1");

  await desk.press("Release");
  expect(desk.decisions()).toEqual([{ kind: "release", digest: "d1" }]);
});

test("a result for a client names it wherever the card says who receives it", async () => {
  const table = { columns: ["name"], rows: [["Jane"]] };
  const media = [{ key: "a".repeat(64), mime: "image/png", name: "plot", size: 12_345 }];
  desk = await ask(calls({ gate: "result", shown: "Jane", table, media, recipient: "agent\n\u202e1.0" }));

  expect(desk.el.querySelector(".nb-card-summary")?.textContent).toContain(
    "to agent \\u{202e}1.0 (4 characters",
  );
  expect(desk.el.textContent).toContain("What is sent to agent \\u{202e}1.0");
  await desk.press("Edit");
  await desk.type("textarea", "J.");

  expect(desk.el.querySelector("textarea")?.getAttribute("aria-label")).toBe("Text for agent \\u{202e}1.0");
  expect(desk.el.textContent).toContain("Only the edited text is sent to agent \\u{202e}1.0");
  expect(desk.el.textContent).not.toContain("the model");
});

test("what is selected in a result is redacted at all occurrences, or once", async () => {
  const shown = "owner: jane\u200b\nbackup: jane\u200b\n";
  for (const [everywhere, text] of [
    [true, "owner: [redacted]\nbackup: [redacted]\n"],
    [false, "owner: [redacted]\nbackup: jane\u200b\n"],
  ] as const) {
    desk = await ask(calls({ gate: "result", shown }));
    if (!everywhere) desk.el.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click();
    await vi.advanceTimersByTimeAsync(10);
    const pre = desk.el.querySelector(".nb-item pre");
    const range = document.createRange();
    range.setStart(pre?.childNodes[0] as Node, 7);
    range.setEnd(pre?.childNodes[1]?.firstChild as Node, 3);
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);

    await desk.press("Redact the selection");
    await desk.press("Release as edited");

    expect(desk.decisions()).toEqual([{ kind: "release", digest: "d1", text }]);
    desk.page.close();
  }
  desk = await ask(calls({}));
});

test("a redaction needs a selection", async () => {
  desk = await ask(calls({ gate: "result", shown: "owner: jane" }));
  getSelection()?.removeAllRanges();

  await desk.press("Redact the selection");

  expect(desk.el.querySelector(".nb-redact")?.textContent).toContain("Select the text to redact first");
  await desk.press("Release");
  expect(desk.decisions()).toEqual([{ kind: "release", digest: "d1" }]);
});

test("by the keys alone, the editor's selection is taken out", async () => {
  desk = await ask(calls({ gate: "result", shown: "owner: jane" }));
  await desk.press("Edit");
  desk.el.querySelector("textarea")?.setSelectionRange(7, 11);

  await desk.press("Redact the selection");
  await desk.press("Release as edited");

  expect(desk.decisions()).toEqual([{ kind: "release", digest: "d1", text: "owner: [redacted]" }]);
});

test("a text that is too long for a field is not edited, and the form says so", async () => {
  desk = await ask(calls({ shown: JSON.stringify({ ticker: "a".repeat(30_001) }), schema }));
  await desk.press("Show all");
  await desk.press("Edit");

  expect(desk.el.querySelector(".nb-field textarea")).toBeNull();
  expect(desk.el.querySelector(".nb-field")?.textContent).toContain(
    "30,001 characters: too long to edit here. The limit is 30,000 characters.",
  );
});

test("a result that is too long for a field says so, and can still be redacted by selecting", async () => {
  desk = await ask(calls({ gate: "result", shown: "a".repeat(30_001) }));
  await desk.press("Show all");
  await desk.press("Edit");

  expect(desk.el.querySelector(".nb-item textarea")).toBeNull();
  expect(desk.el.querySelector(".nb-item")?.textContent).toContain("too long to edit here");
  expect(desk.button("Redact the selection").disabled).toBe(false);
});
