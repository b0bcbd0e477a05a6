import { vi } from "vitest";
import { setModule } from "../../src/kernel/lazy";
import type { CallBlock, QuestionData } from "../../src/protocol";
import lazyModule from "../../src/rich/index";
import { shortArguments } from "../../src/text/argumentLines";
import { Kernel, shown, start } from "../page";
import { withWords } from "./questionWords";

export const ARGUMENTS = '{"ticker":"ACME","n":12345678901234567890}';

/** Whether what is observed is on the screen. */
export const screen = { isInView: true };

/** An observer that looks once, when it is told what to look at. */
export class Looking {
  #tell: (entries: { isIntersecting: boolean }[]) => void;
  constructor(tell: (entries: { isIntersecting: boolean }[]) => void) {
    this.#tell = tell;
  }
  observe(): void {
    if (screen.isInView) this.#tell([{ isIntersecting: true }]);
  }
  disconnect(): void {}
}

/** A call that waits at a gate. */
export function call(asked: Partial<QuestionData> = {}, block: Partial<CallBlock> = {}): CallBlock {
  const question: QuestionData = {
    gate: "run",
    digest: "d1",
    tool: "price",
    shown: ARGUMENTS,
    description: "Latest close.",
    schema: {},
    can_remember: true,
    sensitive: false,
    ...asked,
  };
  return {
    id: "c1",
    kind: "call",
    call_id: "c1",
    name: question.tool,
    round: 1,
    arguments: question.gate === "run" ? question.shown : ARGUMENTS,
    resolved: {},
    repaired: [],
    state: "waiting",
    question: withWords(question, block.resolved ?? {}, block.arguments ?? ARGUMENTS),
    decisions: [],
    progress: "",
    fraction: null,
    result: "",
    reason: "",
    reference: "",
    started: null,
    seconds: null,
    more: {},
    line: shortArguments(question.gate === "run" ? question.shown : ARGUMENTS),
    ...block,
  };
}

/** Several calls of a round, each about a tool of its own. */
export function calls(...asked: Partial<QuestionData>[]): CallBlock[] {
  return asked.map((each, at) =>
    call(
      { digest: `d${at + 1}`, tool: `tool${at + 1}`, ...each },
      { id: `c${at + 1}`, call_id: `c${at + 1}` },
    ),
  );
}

/** A page on which calls wait, and what a person does there. */
export class Desk {
  kernel: Kernel;
  page: ReturnType<typeof shown>;

  constructor(blocks: CallBlock[]) {
    this.kernel = new Kernel({ ...start(), blocks });
    this.page = shown(this.kernel);
  }

  get el(): HTMLElement {
    return this.page.el;
  }

  button(name: string): HTMLButtonElement {
    const all = [...this.el.querySelectorAll("button")];
    const found =
      all.find((each) => each.textContent === name) ??
      all.find((each) => each.textContent?.startsWith(name)) ??
      all.find((each) => each.getAttribute("aria-label") === name);
    if (!found) throw new Error(`no button ${name} in ${this.el.textContent}`);
    return found;
  }

  async press(name: string): Promise<void> {
    this.button(name).click();
    await vi.advanceTimersByTimeAsync(10);
  }

  async type(selector: string, value: string): Promise<void> {
    const field = this.el.querySelector<HTMLInputElement>(selector);
    if (!field) throw new Error(`no ${selector} in ${this.el.innerHTML}`);
    field.value = value;
    field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
    await vi.advanceTimersByTimeAsync(10);
  }

  async choose(selector: string): Promise<void> {
    const field = this.el.querySelector<HTMLInputElement>(selector);
    if (!field) throw new Error(`no ${selector} in ${this.el.innerHTML}`);
    field.click();
    await vi.advanceTimersByTimeAsync(10);
  }

  async key(selector: string, key: string, more: KeyboardEventInit = {}): Promise<void> {
    this.el
      .querySelector(selector)
      ?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
    await vi.advanceTimersByTimeAsync(10);
  }

  /** What the kernel makes known of a decision. */
  async decided(id: string, digest: string, verdict: "approved" | "denied", by = "button"): Promise<void> {
    const facts = by === "button" ? verdict : `${verdict} by ${by}`;
    const line = `The call was ${facts}`;
    const decisions = [{ gate: "run" as const, digest, verdict, by, reason: "", edited: false, line }];
    const state = verdict === "denied" ? "denied" : "ready";
    this.kernel.patches({ op: "update", id, set: { question: null, state, decisions, facts } });
    await vi.advanceTimersByTimeAsync(10);
  }

  /** The decisions that the page has sent, without their envelopes. */
  decisions(): unknown[] {
    return this.kernel.said.filter(({ digest }) => digest).map(({ v, turn, nonce, id, ...rest }) => rest);
  }

  said(): string {
    return [...this.el.querySelectorAll(".nb-status")].map((each) => each.textContent).join(" ");
  }
}

/** Ask about calls on a page that has the second module, or has not, and wait until the card is armed. */
export async function ask(
  blocks: CallBlock[],
  { wait = 600, plain = false }: { wait?: number; plain?: boolean } = {},
): Promise<Desk> {
  vi.stubGlobal("IntersectionObserver", Looking);
  setModule("rich", plain ? null : lazyModule);
  const desk = new Desk(blocks);
  await vi.advanceTimersByTimeAsync(wait);
  return desk;
}

/** A call that waits, with other targets of its arguments. */
export function withTargets(block: CallBlock, resolved: CallBlock["resolved"]): CallBlock {
  if (!block.question) return { ...block, resolved };
  const { ask: _, lines: __, ...question } = block.question;
  return { ...block, resolved, question: withWords(question, resolved, block.arguments) };
}
