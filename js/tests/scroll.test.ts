/** Where a turn goes that was just run, and what counts as a person's scrolling. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { choosePlace } from "../src/rich/scroll/place";
import { ScrollInput } from "../src/rich/scroll/scrollInput";

const VIEW = new DOMRect(0, 100, 800, 600);

/** A cell with a turn in it, and the cell below it; `text` is what that says. */
function page({ prompt = "[*]:", active = 1, text = "", top = 300, input = 40, turn = 50, more = 0 } = {}) {
  document.body.innerHTML = "";
  const cells = Array.from({ length: 2 + more }, (_, at) => {
    const cell = document.body.appendChild(document.createElement("div"));
    cell.className = at === active ? "jp-Cell jp-mod-active" : "jp-Cell";
    return cell;
  });
  const [cell, next] = cells;
  if (!cell || !next) throw new Error("There are two cells at least.");
  cell.innerHTML = `<div class="jp-InputPrompt">${prompt}</div><section class="nb-turn"></section>`;
  next.innerHTML = text && `<div class="cm-line">${text}</div>`;
  const section = cell.querySelector(".nb-turn") as HTMLElement;
  cell.getBoundingClientRect = () => new DOMRect(0, top, 800, input + turn);
  section.getBoundingClientRect = () => new DOMRect(0, top + input, 800, turn);
  return { cell, section, place: choosePlace(section, cell, VIEW) };
}

test("a prompt above the new cell goes to the top at once", () => {
  expect(page().place).toMatchObject({ rest: 0, isAtOnce: true, isFollowing: false });
});

test.each([
  ["the cell itself is active", { active: 0 }],
  ["the cell below has a text", { text: "x = 1" }],
  ["others are below", { more: 1 }],
])("where %s, the page moves along", (_, given) => {
  expect(page(given).place).toMatchObject({ rest: 0, isAtOnce: false, isFollowing: true });
});

test.each([
  ["another cell is active", { active: 2, more: 1 }],
  ["the cell has ended", { prompt: "[7]:" }],
  ["the cell is above the page", { top: -200 }],
  ["the cell is below the page", { top: 900 }],
])("where %s, nothing moves", (_, given) => {
  expect(page(given).place).toBeUndefined();
});

test("of a prompt that is longer than half of the page the end stays in sight", () => {
  expect(page({ input: 1000, top: -800 }).place).toMatchObject({ rest: 300 - 1000 });
});

test.each([
  ["fits", { top: 300, turn: 200 }, 200],
  ["ends below the page", { top: 300, turn: 400 }, 160],
  ["is longer than the page", { top: 300, turn: 4000 }, 0],
])("a turn that %s", (_, given, top) => {
  const { place, cell } = page({ active: 0, ...given });
  const now = cell.getBoundingClientRect().top - VIEW.top;

  expect(place?.follow(now, now, VIEW)).toBe(top);
});

beforeEach(() => vi.useFakeTimers({ now: 0, toFake: ["performance"] }));
afterEach(() => vi.useRealTimers());

function press(type: string, key?: string): void {
  dispatchEvent(key ? new KeyboardEvent(type, { key }) : new Event(type));
}

test("a person who scrolls after having run a cell has scrolled away, until they act at a place", () => {
  const input = new ScrollInput();
  const away = [input.hasScrolledAway()];
  for (const [type, key] of [
    ["keydown", "Enter"],
    ["wheel"],
    ["keydown", "a"],
    ["keydown", "PageUp"],
    ["pointerdown"],
  ]) {
    vi.advanceTimersByTime(10);
    press(type as string, key);
    away.push(input.hasScrolledAway());
  }
  vi.advanceTimersByTime(10);
  press("scroll"); // the pointer is down: the scroll bar is dragged
  away.push(input.hasScrolledAway());

  expect(away).toEqual([false, false, true, false, true, false, true]);
});

test.each([
  ["soon after the start, without a key or the pointer", 100, false, false],
  ["later", 1_000, false, true],
  ["later, where JupyterLab corrects the heights of cells", 1_000, true, false],
])("a scrolling %s", (_, after, isCorrection, isByPerson) => {
  const input = new ScrollInput();
  press("wheel");
  vi.advanceTimersByTime(2_000);
  const began = performance.now();
  vi.advanceTimersByTime(after);

  expect(input.isByPerson(began, isCorrection)).toBe(isByPerson);
  press("wheel");
  vi.advanceTimersByTime(10);
  expect(input.isByPerson(began, isCorrection)).toBe(true);
});

test("what a key or the pointer is pressed on is passed on until it is no longer wanted", () => {
  const input = new ScrollInput();
  const seen: unknown[] = [];
  const stop = input.onAction((target) => seen.push(target));
  press("keydown", "x");
  press("wheel");
  stop();
  press("pointerdown");

  expect(seen).toHaveLength(1);
});
