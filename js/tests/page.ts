import { vi } from "vitest";
import formulas from "../src/formulas/index";
import widget from "../src/index";
import { setModule } from "../src/kernel/lazy";
import type { Model } from "../src/model";
import type { Document, KernelMessage, Patch } from "../src/protocol";
import lazyModule from "../src/rich/index";

setModule("rich", lazyModule);
setModule("formulas", formulas); // as on a page that has loaded it; `rich.test.ts` is about the others

/** A kernel made of two lists: what the page said, and who listens. */
export class Kernel implements Model {
  said: Record<string, unknown>[] = [];
  traits: Record<string, unknown>;
  #listeners = new Map<string, Set<(content: unknown, buffers?: unknown[]) => void>>();
  #seq = 0;

  constructor(snapshot: Document = start(), turn = `t${Math.random()}`) {
    this.traits = { turn_id: turn, nonce: "n", snapshot };
  }

  get = (name: string): unknown => this.traits[name];
  send = (content: unknown): void => void this.said.push(content as Record<string, unknown>);
  on = (event: string, listener: (content: unknown) => void): void => {
    this.#listeners.set(event, (this.#listeners.get(event) ?? new Set()).add(listener));
  };
  off = (event: string, listener: (content: unknown) => void): void => {
    this.#listeners.get(event)?.delete(listener);
  };

  emit(event: string, content?: unknown, buffers?: unknown[]): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(content, buffers);
  }

  tell(message: KernelMessage, ...buffers: unknown[]): void {
    this.emit("msg:custom", message, buffers);
  }

  patches(...patches: Patch[]): void {
    this.tell({ v: 1, kind: "patches", seq: ++this.#seq, patches });
  }

  /** Lose a message of patches on the way. */
  lose(): void {
    this.#seq++;
  }

  listeners(): number {
    return [...this.#listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }

  of(kind: string): Record<string, unknown>[] {
    return this.said.filter((message) => message.kind === kind);
  }
}

/** A document before anything happened. */
export function start(): Document {
  const usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, thinking_tokens: 0, cost: null };
  const head = {
    turn_id: "t",
    model: "m",
    prompt: "",
    status: "running",
    round: 0,
    calls: 0,
    activity: "",
  } as const;
  return { v: 1, head: { ...head, usage, started: null, seconds: null, error: "" }, blocks: [] };
}

/** Show a kernel's turn; gives the element and the undo. */
export function shown(kernel: Kernel): { el: HTMLElement; close: () => void } {
  const el = document.createElement("div");
  document.body.append(el);
  const end = widget.initialize({ model: kernel, el });
  const unmount = widget.render({ model: kernel, el });
  const close = (): void => {
    unmount();
    end();
    el.remove();
  };
  return { el, close };
}

/** Turns of the event loop in which Preact draws what has changed: an answer may draw something that asks again. */
const TURNS = 6;

/** Let Preact draw what has changed. */
export async function drawn(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Wait until a check passes: for what is loaded only when it is needed, also on a busy machine. */
export async function until(check: () => void): Promise<void> {
  await vi.waitFor(check, { timeout: 30_000 });
}

const TAGS = new Set(
  "A B BLOCKQUOTE BR BUTTON CODE DD DEL DETAILS DIV DL DT EM FIELDSET FOOTER FORM H3 H4 H5 H6 HEADER HR I INPUT KBD LABEL LI MARK OL OPTION P PRE PROGRESS SECTION SELECT SPAN STRONG SUMMARY SUP TABLE TBODY TD TEXTAREA TH THEAD TR UL".split(
    " ",
  ),
);
const ATTRIBUTES = new Set(
  "aria-live class dir href max scope title target rel style start open role type disabled rows maxlength placeholder value aria-label aria-busy aria-describedby aria-disabled aria-hidden aria-invalid aria-keyshortcuts checked data-digest for id spellcheck tabindex data-lm-suppress-shortcuts".split(
    " ",
  ),
);

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** Everything in an element that a model must never bring about. */
export function dangers(el: Element): string[] {
  const found: string[] = [];
  for (const node of el.querySelectorAll("*")) {
    if (node.namespaceURI === MATHML) {
      const bad = node.getAttributeNames().filter((name) => /^on|href|src|style|class|^id$/.test(name));
      if (bad.length > 0) found.push(`${node.tagName} ${bad}`);
      continue;
    }
    if (!TAGS.has(node.tagName)) found.push(node.tagName);
    for (const { name, value } of node.attributes) {
      if (!ATTRIBUTES.has(name)) found.push(`${node.tagName} ${name}=${value}`);
      if (name === "href" && !/^(https?:\/\/|mailto:)/.test(value)) found.push(`href ${value}`);
      if (name === "style" && !/^text-align: (left|right|center);?$/.test(value))
        found.push(`style ${value}`);
      if (name === "class" && value && !/^(nb-[\w-]+ ?)+$/.test(value)) found.push(`class ${value}`);
    }
    if (node.tagName === "A" && node.getAttribute("rel") !== "noopener noreferrer")
      found.push("a link with an opener");
  }
  return found;
}
