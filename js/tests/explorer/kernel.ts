import { readFileSync } from "node:fs";
import explorer from "../../src/explorer/index";
import type { Answer, Detail, Index, Totals } from "../../src/explorer/protocol";
import { actionsAt } from "../../src/views/actions";
import { drawn } from "../page";

interface Recorded {
  index: Index;
  turns: Detail[];
  totals: Totals;
}

/** A conversation as nbtool folded it; tests/blocks/history/test_recorded.py keeps it true. */
export const RECORDED = JSON.parse(readFileSync(`${import.meta.dirname}/history.json`, "utf8")) as Recorded;

/** The id of a recorded turn by its number. */
export function turnId(number: number): string {
  return `turn_${number.toString(16).padStart(20, "0")}`;
}

/** A kernel that answers what it is asked, and a page that shows its explorer. */
export class Kernel {
  said: Record<string, unknown>[] = [];
  el = document.createElement("div");
  isSilent = false;
  index: Index = RECORDED.index;
  turns: Detail[] = RECORDED.turns;
  found: string[] = [];
  acts: string[] = actionsAt("explorer", "call", "toolbar");
  cell = "%%chat --rerun";
  /** The turn that is to be open first. */
  turn = "";
  widget_manager: unknown;
  #listeners = new Set<(content: unknown) => void>();
  #close = (): void => {};

  get = (name: string): unknown =>
    ({ nonce: "n", title: "History of main", place: "model-1", acts: this.acts, turn: this.turn })[name];
  on = (event: string, hear: (content: unknown) => void): void => {
    if (event === "msg:custom") this.#listeners.add(hear);
  };
  off = (_: string, hear: (content: unknown) => void): void => void this.#listeners.delete(hear);
  send = (content: unknown): void => {
    const said = content as Record<string, unknown>;
    this.said.push(said);
    const answer = this.isSilent ? null : this.#answer(said);
    if (answer) queueMicrotask(() => this.tell({ v: 1, id: said.id, ...answer } as Answer));
  };

  tell(answer: Answer): void {
    for (const hear of this.#listeners) hear(answer);
  }

  of(kind: string): Record<string, unknown>[] {
    return this.said.filter((message) => message.kind === kind);
  }

  listeners(): number {
    return this.#listeners.size;
  }

  async show(): Promise<HTMLElement> {
    document.body.append(this.el);
    this.#close = explorer.render({ model: this, el: this.el });
    await drawn();
    return this.el;
  }

  close(): void {
    this.#close();
    this.el.remove();
  }

  #answer(said: Record<string, unknown>): object | null {
    switch (said.kind) {
      case "hello":
        return { kind: "index", index: this.index };
      case "open": {
        const detail = this.turns.find((one) => one.turn_id === said.turn);
        return detail ? { kind: "turn", detail } : { kind: "refused", text: "There is no such turn." };
      }
      case "search":
        return {
          kind: "found",
          found: this.found.map((turn_id) => ({ turn_id, snippet: "found here: ten <b>" })),
        };
      case "totals":
        return { kind: "totals", totals: RECORDED.totals };
      case "cell":
        return { kind: "cell", text: this.cell };
      case "name":
        return { kind: "named", text: `The chat ${said.name} has copies of 5 turns.` };
      default:
        return null;
    }
  }
}

/** Press what has this name: a button, a tab. */
export async function press(el: Element, name: string): Promise<void> {
  const found = [...el.querySelectorAll<HTMLElement>("button")].find(
    (one) => (one.getAttribute("aria-label") ?? one.textContent)?.trim() === name,
  );
  if (!found) throw new Error(`There is no button ${name}.`);
  found.click();
  await drawn();
}

/** Type into what is found. */
export async function type(el: Element, selector: string, value: string): Promise<void> {
  const input = el.querySelector<HTMLInputElement>(selector);
  if (!input) throw new Error(`There is no ${selector}.`);
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
}
