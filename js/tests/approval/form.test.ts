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
  expect(text()).toContain("lab asks for input. Send what is filled in?");
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
  const choice = desk.el.querySelector<HTMLSelectElement>('select[id$="-row"]');
  expect([...(choice?.options ?? [])].map((one) => one.textContent)).toEqual(["Choose …", "front", "back"]);
  await desk.type('select[id$="-row"]', '"back"');
  await desk.press("Send");

  expect(desk.decisions()).toEqual([
    { kind: "approve", digest: "d1", arguments: '{"name": "Ada", "seats": 2, "row": "back"}' },
  ]);
});

test("a form is declined or cancelled at once, and the two differ", async () => {
  await desk.press("Cancel");
  await desk.press("Decline");

  expect(desk.kernel.said.filter(({ kind }) => kind === "stop_call")).toMatchObject([{ call_id: "c1" }]);
  expect(desk.decisions()).toEqual([{ kind: "deny", digest: "d1" }]);
});
