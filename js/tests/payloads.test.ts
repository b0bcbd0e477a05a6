import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import type { Block } from "../src/protocol";
import { dangers, drawn, Kernel, shown, start } from "./page";

const payloads = JSON.parse(readFileSync(`${import.meta.dirname}/payloads.json`, "utf8")) as string[];
const alert = vi.fn();
vi.stubGlobal("alert", alert);

afterEach(() => document.body.replaceChildren());

/** One turn that carries the text in every field that a model, a tool or a server controls. */
function everywhere(text: string): Block[] {
  const asked = {
    gate: "run",
    digest: "d",
    tool: text,
    shown: text,
    description: text,
    schema: {},
    can_remember: true,
  } as const;
  const decided = {
    gate: "run",
    digest: "d",
    verdict: "denied",
    by: text,
    reason: text,
    edited: true,
  } as const;
  return [
    { id: "1", kind: "thinking", text, refusal: false, state: "whole", more: {} },
    { id: "2", kind: "text", text, refusal: true, state: "whole", more: { text: 3 } },
    { id: "3", kind: "notice", text, level: "warning" },
    {
      id: "4",
      kind: "call",
      call_id: "4",
      name: text,
      round: 1,
      arguments: `$VAR_REF${text}`,
      resolved: { [text]: text },
      repaired: [text],
      state: "waiting",
      question: { ...asked, shown: `$VAR_REF${text}` },
      decisions: [decided],
      progress: text,
      fraction: 0.5,
      result: text,
      reason: `${text}!`,
      reference: text,
      started: 1,
      seconds: 1,
      more: { result: 3 },
    },
  ];
}

test("there are enough payloads", () => {
  expect(payloads.length).toBeGreaterThanOrEqual(60);
});

test.each(payloads)("%j executes nothing and becomes nothing but text", async (payload) => {
  const document = start();
  const kernel = new Kernel({
    ...document,
    head: { ...document.head, model: payload, prompt: payload, activity: payload, error: payload },
    blocks: everywhere(payload),
  });
  const page = shown(kernel);
  await drawn();

  expect(dangers(page.el)).toEqual([]);
  expect(page.el.querySelectorAll("img, script, iframe, svg, style, link, object")).toHaveLength(0);
  expect(alert).not.toHaveBeenCalled();
  page.close();
});

test.each(payloads)("%j in pieces ends as the whole does", async (payload) => {
  const kernel = new Kernel();
  const page = shown(kernel);
  kernel.patches({
    op: "open",
    block: { id: "1", kind: "text", text: "", refusal: false, state: "open", more: {} },
  });
  for (const text of payload) {
    kernel.patches({ op: "extend", id: "1", field: "text", text });
    await drawn();
    expect(dangers(page.el)).toEqual([]);
  }
  const streamed = page.el.querySelector(".nb-reply")?.innerHTML;
  page.close();
  const whole = shown(
    new Kernel({
      ...start(),
      blocks: [{ id: "1", kind: "text", text: payload, refusal: false, state: "open", more: {} }],
    }),
  );
  await drawn();

  expect(streamed).toBe(whole.el.querySelector(".nb-reply")?.innerHTML);
  whole.close();
});
