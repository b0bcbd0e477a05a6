/** A pill at the lower edge of a notebook names the questions that are not fully in sight, and leads to them. */
import { cellOf, cellReveal } from "../../kernel/cellReveal";
import type { Connection } from "../../kernel/turn";
import { plural, singleLine } from "../../text/format";
import { countCalls, type PendingCall } from "../../views/approval/pending";
import { alignCard, type Side, sideOf } from "./cardSide";

const PANEL = ".jp-NotebookPanel";

/** The steps from nothing to all of a card at which its place is looked at. */
const STEPS = Array.from({ length: 21 }, (_, step) => step / 20);

const ARROWS: Record<Side, string> = { seen: "", above: "↑", below: "↓" };

/** The card of a turn that waits. A turn may have several, of which one in sight is enough. */
interface WaitingCard {
  turn: object;
  card: HTMLElement;
  calls: readonly PendingCall[];
}

const pills = new Map<HTMLElement, Pill>();

/** What one view of a turn shows in the pill of its notebook. */
export class PillEntry {
  /** The notebook around the view; undefined on a page that has none, or while its cell is not known. */
  panel: HTMLElement | undefined;
  #turn: Pick<Connection, "state">;

  constructor(turn: Pick<Connection, "state">) {
    this.#turn = turn;
  }

  /** Update what waits on a card, which is null without a question; `view` is always there. */
  update(view: HTMLElement | null, card: HTMLElement | null, calls: readonly PendingCall[]): void {
    this.panel ??= (view && (view.closest<HTMLElement>(PANEL) ?? cellReveal()?.panelOf(view))) ?? undefined;
    const { link } = this.#turn.state();
    const canDecide = link !== "offline" && link !== "lost";
    this.#set(card && canDecide && calls.length ? { turn: this.#turn, card, calls } : null);
  }

  remove(): void {
    this.#set(null);
  }

  #set(waiting: WaitingCard | null): void {
    const { panel } = this;
    if (!panel || (!waiting && !pills.has(panel))) return;
    const pill = pills.get(panel) ?? new Pill(panel);
    pills.set(panel, pill);
    pill.set(this, waiting);
    if (!pill.isEmpty()) return;
    pill.remove();
    pills.delete(panel);
  }
}

class Pill {
  #panel: HTMLElement;
  #waiting = new Map<object, WaitingCard>();
  #el = document.createElement("div");
  #button = document.createElement("button");
  #observer = new IntersectionObserver(() => this.#update(), { threshold: STEPS });
  #next: WaitingCard | undefined;
  /** The card that was gone to last: the next one follows it. */
  #last: HTMLElement | undefined;

  constructor(panel: HTMLElement) {
    this.#panel = panel;
    this.#el.className = "nb-pill";
    this.#el.setAttribute("role", "status");
    this.#button.type = "button";
    this.#button.addEventListener("click", () => void this.#go());
    panel.append(this.#el);
    panel.addEventListener("scroll", this.#update, { capture: true, passive: true });
  }

  isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  set(view: object, waiting: WaitingCard | null): void {
    const former = this.#waiting.get(view)?.card;
    if (former && former !== waiting?.card) this.#observer.unobserve(former);
    if (waiting) this.#waiting.set(view, waiting);
    else this.#waiting.delete(view);
    if (waiting && former !== waiting.card) this.#observer.observe(waiting.card);
    this.#update();
  }

  remove(): void {
    this.#observer.disconnect();
    this.#panel.removeEventListener("scroll", this.#update, true);
    this.#el.remove();
  }

  /** Name what is not in sight; nothing where all is. */
  #update = (): void => {
    const hidden = this.#hidden();
    this.#next = this.#nextOf(hidden);
    if (!this.#next) {
      this.#el.replaceChildren();
      return;
    }
    const side = sideOf(this.#next.card, this.#panel);
    const text = describe(hidden);
    const line = `${text} ${ARROWS[side]}`;
    if (this.#button.isConnected && this.#button.textContent === line) return;
    this.#button.textContent = line;
    this.#button.setAttribute("aria-label", `${text}, ${side}: go there`);
    this.#el.replaceChildren(this.#button);
  };

  /** The cards that are not in sight, of turns that have none in sight, from the top of the notebook to its end. */
  #hidden(): WaitingCard[] {
    const all = [...this.#waiting.values()];
    const isSeen = ({ card }: WaitingCard): boolean => sideOf(card, this.#panel) === "seen";
    const seen = new Set(all.filter(isSeen).map(({ turn }) => turn));
    const hidden = new Map(all.filter(({ turn }) => !seen.has(turn)).map((one) => [one.turn, one]));
    return [...hidden.values()].sort(byPlace);
  }

  /** The card to go to: the one after the last, else the nearest below, else the nearest above. */
  #nextOf(hidden: WaitingCard[]): WaitingCard | undefined {
    const last = this.#last && { card: this.#last };
    const after = last && hidden.find((one) => byPlace(last, one) < 0);
    if (last) return after ?? hidden[0];
    return hidden.find(({ card }) => sideOf(card, this.#panel) === "below") ?? hidden.at(-1);
  }

  /** Bring the card into sight and give it the focus: the card and none of its buttons, so that no key decides. */
  async #go(): Promise<void> {
    const { card } = this.#next ?? {};
    if (!card) return;
    this.#last = card;
    if (!card.getClientRects().length) await cellReveal()?.reveal(card); // collapsed, or not attached
    alignCard(card, this.#panel);
    card.focus({ preventScroll: true });
    requestAnimationFrame(() => {
      alignCard(card, this.#panel); // cells between may have got another height as they came into sight
      this.#update();
    });
  }
}

/** What waits, in a few words. */
function describe(waiting: readonly WaitingCard[]): string {
  const calls = waiting.flatMap((one) => one.calls);
  const [only, more] = calls;
  const turns = waiting.length > 1 ? ` in ${plural(waiting.length, "turn")}` : "";
  if (!only || more) return `${countCalls(calls)} wait${turns}`;
  const { gate, is_form, tool } = only.question;
  const name = singleLine(tool, 40);
  if (is_form) return `Input for ${name} waits`;
  return gate === "run" ? `Run ${name}? waits` : `Result of ${name} waits`;
}

function byPlace({ card: one }: { card: HTMLElement }, { card: other }: { card: HTMLElement }): number {
  const cells = [one, other].map((card) => Number(cellOf(card)?.dataset.windowedListIndex));
  const [first = 0, second = 0] = cells;
  if (first !== second && !cells.some(Number.isNaN)) return first - second;
  return one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}
