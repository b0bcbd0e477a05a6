import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ask, calls, type Desk } from "./desk";

const schema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, description: "Who sits there." },
    seats: { type: "integer", minimum: 1 },
    row: { type: "string", enum: ["front", "back"] },
    window: { type: "boolean" },
  },
  required: ["name", "seats", "row"],
  additionalProperties: false,
};
const shown = '{"name":"","seats":null,"row":null}';
let desk: Desk;

beforeEach(async () => {
  vi.useFakeTimers();
  desk = await ask(
    calls({ tool: "lab asks", shown, schema, is_form: true, sensitive: true, can_remember: false }),
  );
});
afterEach(() => {
  desk.page.close();
  vi.useRealTimers();
});

const text = (): string => desk.el.textContent ?? "";

test("a form of a server is open, empty, and cannot be sent before it is filled in", async () => {
  expect(text()).toContain("lab asks you for an answer.");
  expect(text()).toContain("Who sits there.");
  expect(desk.el.querySelector<HTMLTextAreaElement>('textarea[id$="-seats"]')?.value).toBe("");
  expect(desk.el.querySelectorAll(".nb-problem")).toHaveLength(3);
  expect(desk.button("Send").disabled).toBe(true);
  expect(text()).toContain("Fill in what is marked, then send.");
  expect(text()).not.toContain("Edit");
});

test("what is filled in is sent as JSON", async () => {
  await desk.type('textarea[id$="-name"]', "Ada");
  await desk.type('textarea[id$="-seats"]', "2");
  const labels = [...desk.el.querySelectorAll('[id$="-row"] label')].map((label) =>
    label.textContent?.trim(),
  );
  expect(labels).toEqual(["front", "back"]);
  await desk.choose('[id$="-row"] label:last-child input');
  expect(text()).toContain("lab asks you for an answer.");
  await desk.press("Send");

  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1", arguments: '{"name": "Ada", "seats": 2, "row": "back"}' },
  ]);
});

test("an optional field is in view, and is not sent while it is blank", async () => {
  await desk.type('textarea[id$="-name"]', "Ada");
  await desk.type('textarea[id$="-seats"]', "2");
  await desk.choose('[id$="-row"] label:first-child input');
  await desk.choose('[id$="-window"] label:first-child input');
  expect(desk.button("Send").disabled).toBe(false);
  await desk.type('textarea[id$="-name"]', "  ");
  expect(desk.button("Send").disabled).toBe(true);
  await desk.type('textarea[id$="-name"]', "Ada");
  await desk.press("Remove");
  await desk.press("Send");

  expect(desk.decisions()).toMatchObject([{ arguments: '{"name": "Ada", "seats": 2, "row": "front"}' }]);
});

test("a question of the model shows its choices at once, and an empty answer cannot be sent", async () => {
  desk.page.close();
  const properties = {
    choice: { type: "string", title: "Answer", enum: ["metres", "feet"] },
    text: { type: "string", title: "Another answer", minLength: 1 },
  };
  const question = {
    type: "object",
    properties,
    required: [],
    minProperties: 1,
    additionalProperties: false,
  };
  desk = await ask(
    calls({ tool: "The model asks", shown: "{}", schema: question, is_form: true, sensitive: true }),
  );
  expect(text()).not.toContain("Sensitive");
  expect(text()).not.toContain("Add ");
  expect(desk.el.querySelectorAll('input[type="radio"]')).toHaveLength(2);
  expect(desk.button("Send").disabled).toBe(true);
  await desk.type('textarea[id$="-text"]', " ");
  expect(desk.button("Send").disabled).toBe(true);
  await desk.choose('input[type="radio"]');
  await desk.press("Send");

  expect(desk.decisions()).toMatchObject([{ kind: "approve", arguments: '{"choice": "metres"}' }]);
});

test("a form of optional fields only can be sent as it is, and a choice is taken back", async () => {
  desk.page.close();
  const drink = { type: "string", enum: ["tea", "milk"] };
  const asked = { type: "object", properties: { drink }, required: [], additionalProperties: false };
  desk = await ask(
    calls({
      tool: "lab asks",
      shown: "{}",
      schema: asked,
      is_form: true,
      sensitive: true,
      can_remember: false,
    }),
  );
  await desk.choose('input[type="radio"]');
  await desk.press("Remove");
  expect(desk.button("Send").disabled).toBe(false);
  await desk.press("Send");

  expect(desk.decisions()).toEqual([{ kind: "approve", digest: "d1" }]);
});

test("a form is declined or cancelled at once, and the two differ", async () => {
  await desk.press("Cancel");
  await desk.press("Decline");

  expect(desk.kernel.said.filter(({ kind }) => kind === "stop_call")).toMatchObject([{ call_id: "c1" }]);
  expect(desk.decisions()).toEqual([{ kind: "deny", digest: "d1" }]);
});
