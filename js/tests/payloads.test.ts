import { afterEach, expect, test, vi } from "vitest";
import type { Block } from "../src/protocol";
import { dangers, drawn, Kernel, shown, start } from "./page";
import { CARRIERS, OWN, PAYLOADS } from "./payloads";
import { reference } from "./resolved";

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
    sensitive: false,
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
      resolved: { [text]: reference(text, text) },
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

/** Texts that are shown on one page: enough of them cost little more than one. */
const BATCH = 25;

/** Show a turn that carries these texts everywhere, its calls opened; gives what must not have come of them. */
async function harm(texts: string[]): Promise<string[]> {
  const [text = ""] = texts;
  const document = start();
  const head = {
    ...document.head,
    model: text,
    prompt: text,
    activity: text,
    error: text,
    why: text,
    replayed: text,
  };
  const blocks = texts.flatMap((one, at) =>
    everywhere(one).map((block) => ({ ...block, id: `${at}-${block.id}` }) as Block),
  );
  const page = shown(new Kernel({ ...document, head, blocks }));
  for (const fold of page.el.querySelectorAll("details")) fold.open = true;
  await drawn();
  const found = dangers(page.el);
  const bad = page.el.querySelector("img, script, iframe, svg, style, link, object, embed, base, meta");
  if (bad) found.push(bad.outerHTML);
  page.close();
  return found;
}

/** The reply while a text comes in pieces: what must not have come of it, and how it ends. */
async function streamed(text: string, size: number): Promise<{ found: string[]; end: string | undefined }> {
  const kernel = new Kernel();
  const page = shown(kernel);
  const found: string[] = [];
  kernel.patches({
    op: "open",
    block: { id: "1", kind: "text", text: "", refusal: false, state: "open", more: {} },
  });
  for (let at = 0; at < text.length; at += size) {
    kernel.patches({ op: "extend", id: "1", field: "text", text: text.slice(at, at + size) });
    await drawn();
    found.push(...dangers(page.el));
  }
  kernel.patches({ op: "update", id: "1", set: { state: "whole" } });
  await drawn();
  const end = page.el.querySelector(".nb-reply")?.innerHTML;
  page.close();
  return { found, end };
}

test("there are enough payloads and carriers, each counted once", () => {
  expect(PAYLOADS.length).toBeGreaterThanOrEqual(1_500);
  expect(CARRIERS.length).toBeGreaterThanOrEqual(300);
  expect(new Set(CARRIERS).size).toBe(CARRIERS.length);
});

test("no payload executes or becomes more than text, in the reply, the log or the card", async () => {
  const harmed: string[] = [];
  const all = [...PAYLOADS, ...CARRIERS];
  for (let at = 0; at < all.length; at += BATCH) harmed.push(...(await harm(all.slice(at, at + BATCH))));

  expect(harmed).toEqual([]);
  expect(alert).not.toHaveBeenCalled();
}, 300_000);

test.each(OWN)(
  "%j in pieces ends as the whole does",
  async (payload) => {
    const [pieces, whole] = [await streamed(payload, 1), await streamed(payload, payload.length)];

    expect(pieces.found).toEqual([]);
    expect(pieces.end).toBe(whole.end);
    expect(alert).not.toHaveBeenCalled();
  },
  60_000,
);
