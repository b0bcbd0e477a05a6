/** A pill at the lower edge of a notebook names the questions that are not fully in sight, and leads to them. */
import { cellOf, cellReveal } from "../../kernel/pageServices";
import { type TurnOnPage, turnOnPage } from "../../kernel/turnsOnPage";
import { plural, singleLine } from "../../text/format";
import { countCalls, type PendingCall, pendingCalls } from "../../views/approval/pending";
import { alignCard, type Side, sideOf } from "./cardSide";

const PANEL = ".jp-NotebookPanel";

/** The steps from nothing to all of a card at which its place is looked at. */
const STEPS = Array.from({ length: 21 }, (_, step) => step / 20);

const ARROWS: Record<Side, string> = { seen: "", above: "↑", below: "↓", collapsed: "(collapsed)" };

/** Milliseconds after which a turn without a view is named: the kernel shows one whose output was only cleared again. */
const LOST_MS = 2_000;

/** The card of a turn that waits. A turn may have several, of which one in sight is enough. */
interface WaitingCard {
  turn: TurnOnPage;
  card: HTMLElement;
  calls: readonly PendingCall[];
}

const pills = new Map<HTMLElement, Pill>();

/** What one view of a turn shows in the pill of its notebook. */
export class PillEntry {
  /** The notebook around the view; undefined on a page that has none, or while its cell is not known. */
  panel: HTMLElement | undefined;
  #turn: TurnOnPage;

  constructor(turn: TurnOnPage) {
    this.#turn = turn;
  }

  /** Update what waits on a card, which is null without a question; `view` is always there. */
  update(view: HTMLElement | null, card: HTMLElement | null, calls: readonly PendingCall[]): void {
    this.panel ??= (view && (view.closest<HTMLElement>(PANEL) ?? cellReveal()?.panelOf(view))) ?? undefined;
    this.#set(card && canDecide(this.#turn) && calls.length ? { turn: this.#turn, card, calls } : null);
  }

  /** Remove what the view shows; name its turn from now on if that has no other view, and waits. */
  remove(): void {
    this.#set(null);
    const { panel } = this;
    if (panel) window.setTimeout(() => nameLostTurn(idOf(this.#turn), panel), LOST_MS);
  }

  #set(waiting: WaitingCard | null): void {
    const { panel } = this;
    if (panel && (waiting || pills.has(panel))) change(panel, (pill) => pill.set(this, waiting));
  }
}

function idOf(turn: TurnOnPage): string {
  return turn.state().document.head.turn_id;
}

function canDecide(turn: TurnOnPage): boolean {
  const { link } = turn.state();
  return link !== "offline" && link !== "lost";
}

/** Change the pill of a notebook, which has none while it is empty. */
function change(panel: HTMLElement, how: (pill: Pill) => void): void {
  const pill = pills.get(panel) ?? new Pill(panel);
  pills.set(panel, pill);
  how(pill);
  if (!pill.isEmpty()) return;
  pill.remove();
  pills.delete(panel);
}

/** Name a turn whose cell is gone as long as it waits, has no view, and its notebook is open. */
function nameLostTurn(id: string, panel: HTMLElement): void {
  const turn = turnOnPage(id);
  const calls = turn && canDecide(turn) ? pendingCalls(turn.state().document) : [];
  const hasView = [...pills.values()].some((pill) => pill.has(id));
  const isLost = calls.length > 0 && !hasView && panel.isConnected;
  if (isLost || pills.has(panel)) change(panel, (pill) => pill.setLost(id, isLost ? calls : []));
  if (isLost) window.setTimeout(() => nameLostTurn(id, panel), LOST_MS);
}

class Pill {
  #panel: HTMLElement;
  #waiting = new Map<object, WaitingCard>();
  /** The calls of turns without a view, by the id of their turn. */
  #lost = new Map<string, readonly PendingCall[]>();
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
    return this.#waiting.size === 0 && this.#lost.size === 0;
  }

  /** Whether a turn has a view here. */
  has(id: string): boolean {
    return this.#panel.isConnected && [...this.#waiting.values()].some(({ turn }) => idOf(turn) === id);
  }

  /** Name the calls of a turn that has no view; none without calls. */
  setLost(id: string, calls: readonly PendingCall[]): void {
    if (calls.length) this.#lost.set(id, calls);
    else this.#lost.delete(id);
    this.#update();
  }

  set(view: object, waiting: WaitingCard | null): void {
    const former = this.#waiting.get(view)?.card;
    if (former && former !== waiting?.card) this.#observer.unobserve(former);
    if (waiting) {
      this.#waiting.set(view, waiting);
      this.#lost.delete(idOf(waiting.turn));
    } else this.#waiting.delete(view);
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
      const lost = [...this.#lost.values()].flat();
      this.#el.replaceChildren(...(lost.length ? [lostLine(lost, this.#lost.size)] : []));
      return;
    }
    const side = sideOf(this.#next.card, this.#panel);
    const text = describe(callsOf(hidden), hidden.length);
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

function callsOf(waiting: readonly WaitingCard[]): PendingCall[] {
  return waiting.flatMap((one) => one.calls);
}

/** What waits without a cell, and the command that shows and decides it. */
function lostLine(calls: readonly PendingCall[], turns: number): HTMLElement {
  const line = document.createElement("span");
  line.textContent = `${describe(calls, turns)}, its output is gone: `;
  line.append(Object.assign(document.createElement("code"), { textContent: "%chat approvals" }));
  return line;
}

/** What waits, in a few words. */
function describe(calls: readonly PendingCall[], turnCount: number): string {
  const [only, more] = calls;
  const turns = turnCount > 1 ? ` in ${plural(turnCount, "turn")}` : "";
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
