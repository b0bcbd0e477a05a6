/** The pill at the lower edge of a notebook: what it names, where it leads, and that it decides nothing. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TurnState } from "../../src/kernel/turn";
import { noteTurn, type TurnOnPage } from "../../src/kernel/turnsOnPage";
import type { CallBlock } from "../../src/protocol";
import { PillEntry } from "../../src/rich/approval/pill";
import type { PendingCall } from "../../src/views/approval/pending";
import { start } from "../page";
import { call } from "./desk";

class NoObserver {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

let panel: HTMLElement;

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", NoObserver);
  document.body.innerHTML = '<div class="jp-NotebookPanel"><div class="jp-WindowedPanel-outer"></div></div>';
  panel = document.querySelector(".jp-NotebookPanel") as HTMLElement;
  place(panel.querySelector(".jp-WindowedPanel-outer") as HTMLElement, 0, 500);
});
afterEach(() => vi.unstubAllGlobals());

/** Give an element a place in the window. */
function place(el: HTMLElement, top: number, height: number): void {
  el.getBoundingClientRect = () => new DOMRect(0, top, 100, height);
  el.getClientRects = () => [el.getBoundingClientRect()] as unknown as DOMRectList;
}

/** A turn of the page in a state that may be changed. */
function turnOf(state: TurnState): TurnOnPage {
  const turn = { state: () => state };
  noteTurn(state.document.head.turn_id, turn, new AbortController().signal);
  return turn;
}

/** A card in a cell of the notebook, at a place, with the calls of its turn. */
function waiting(index: number, top: number, calls: CallBlock[], height = 100) {
  const cell = document.createElement("div");
  cell.className = "jp-Cell";
  cell.dataset.windowedListIndex = String(index);
  const card = document.createElement("fieldset");
  card.tabIndex = -1;
  cell.append(card);
  panel.querySelector(".jp-WindowedPanel-outer")?.append(cell);
  place(card, top, height);
  const state = { document: start(), link: "open" as const, requests: {} };
  const entry = new PillEntry(turnOf(state));
  const show = (): void => entry.update(card, card, calls as PendingCall[]);
  show();
  return { card, entry, show, state };
}

const button = (): HTMLButtonElement | null => panel.querySelector(".nb-pill button");

test.each([
  [[call()], "Run price? waits ↓"],
  [[call({ gate: "result" })], "Result of price waits ↓"],
  [[call({ is_form: true })], "Input for price waits ↓"],
  [[call(), call({ digest: "d2" })], "2 calls wait ↓"],
  [[call(), call({ digest: "d2", gate: "result" })], "1 call and 1 result wait ↓"],
])("a question below the page is named", (calls, text) => {
  waiting(1, 600, calls);

  expect(button()?.textContent).toBe(text);
  expect(button()?.parentElement?.getAttribute("role")).toBe("status");
  expect(button()?.getAttribute("aria-label")).toBe(`${text.slice(0, -2)}, below: go there`);
});

test.each([
  ["fully in sight", 300, 100, undefined],
  ["cut by a pixel row at the edge", 420, 100, "Run price? waits ↓"],
  ["cut at the top", -20, 100, "Run price? waits ↑"],
  ["longer than the page, which it fills", -100, 900, undefined],
  ["longer than the page, with its beginning at the lower edge", 400, 900, "Run price? waits ↓"],
])("a card that is %s", (_, top, height, text) => {
  waiting(1, top, [call()], height);

  expect(button()?.textContent).toBe(text);
});

test("a press of the pill focuses the card and none of its buttons, and the next press the next card", () => {
  const [first, second, third] = [-900, 700, 1500].map((top, at) => waiting(at, top, [call()]));
  expect(button()?.textContent).toBe("3 calls wait in 3 turns ↓");

  const focused: (Element | null)[] = [];
  for (let press = 0; press < 4; press++) {
    button()?.click();
    focused.push(document.activeElement);
    second?.show(); // as each change of a card does
  }

  expect(focused).toEqual([second?.card, third?.card, first?.card, second?.card]);
});

test("the pill goes when nothing waits, and where no decision can be sent", () => {
  const one = waiting(1, 600, [call()]);
  const other = waiting(2, 700, [call()]);
  other.state.link = "lost" as never;
  other.show();
  expect(button()?.textContent).toBe("Run price? waits ↓");

  one.entry.update(one.card, null, []);
  expect(panel.querySelector(".nb-pill")).toBeNull();
  one.show();
  one.entry.remove();
  expect(panel.querySelector(".nb-pill")).toBeNull();
});

test("a turn that another view of it shows in sight needs no pill", () => {
  const turn = turnOf({ document: start(), link: "open", requests: {} });
  const [above, seen] = [waiting(1, -300, []), waiting(2, 100, [])];
  const [copy, own] = [new PillEntry(turn), new PillEntry(turn)];
  copy.update(above.card, above.card, [call() as PendingCall]);
  expect(button()?.textContent).toBe("Run price? waits ↑");

  own.update(seen.card, seen.card, [call() as PendingCall]);

  expect(button()).toBeNull();
});

test("a page without a notebook has no pill", () => {
  const card = document.body.appendChild(document.createElement("fieldset"));
  const entry = new PillEntry(turnOf({ document: start(), link: "open", requests: {} }));

  entry.update(card, card, [call() as PendingCall]);
  entry.remove();

  expect(entry.panel).toBeUndefined();
  expect(document.querySelector(".nb-pill")).toBeNull();
});

test("a turn whose cell is gone is named until it is decided, and not if its cell is only drawn again", () => {
  vi.useFakeTimers();
  const state: TurnState = { document: { ...start(), blocks: [call()] }, link: "open", requests: {} };
  const { card } = waiting(1, 100, []);
  const turn = turnOf(state);
  const [former, drawnAgain] = [new PillEntry(turn), new PillEntry(turn)];
  const text = (): string => panel.querySelector(".nb-pill")?.textContent ?? "";

  former.update(card, card, [call() as PendingCall]);
  former.remove();
  drawnAgain.update(card, card, [call() as PendingCall]);
  vi.runAllTimers();
  expect(text()).toBe("");

  drawnAgain.remove();
  expect(text()).toBe("");
  vi.advanceTimersByTime(10_000);
  expect(text()).toBe("Run price? waits, its output is gone: %chat approvals");

  state.document = start();
  vi.runAllTimers();
  expect(panel.querySelector(".nb-pill")).toBeNull();
  vi.useRealTimers();
});

test("a collapsed card in sight is named as such", () => {
  const { card, show } = waiting(1, 100, [call()]);
  place(card.parentElement as HTMLElement, 100, 40);
  card.getClientRects = () => [] as unknown as DOMRectList;

  show();

  expect(button()?.textContent).toBe("Run price? waits (collapsed)");
});
