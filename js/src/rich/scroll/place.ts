/** Where the prompt of a turn goes that the person has just run. */

/** The part of the page that a prompt may fill before its end, and not its beginning, stays in sight. */
const MOST_OF_PAGE = 1 / 2;

const CELL = ".jp-Cell";

/** A turn that the page moves along with, until its prompt is at the top. */
export interface Place {
  turn: HTMLElement;
  /** The distance of its cell from the top of the page in the end; negative for a prompt that is longer than half of it. */
  rest: number;
  /** Whether it goes there at once. */
  isAtOnce: boolean;
  isFollowing: boolean;
  /** Return the distance of the cell from the top: less than it is where the end of the turn is below the page. */
  follow(kept: number, now: number, view: DOMRect): number;
}

/** Return the place of a turn that the person has just run and sees; undefined for any other, which nothing moves for. */
export function choosePlace(turn: HTMLElement, cell: Element, view: DOMRect): Place | undefined {
  const { top, bottom } = cell.getBoundingClientRect();
  if (top >= view.bottom || bottom <= view.top || !isRunByPerson(turn, cell)) return undefined;
  const prompt = turn.getBoundingClientRect().top - top;
  const rest = Math.min(0, view.height * MOST_OF_PAGE - prompt);
  const isAtOnce = isAboveNewCell(cell);
  return {
    turn,
    rest,
    isAtOnce,
    isFollowing: !isAtOnce,
    follow(kept, now, view) {
      const below = turn.getBoundingClientRect().bottom - view.bottom;
      return below > 0 ? Math.min(kept, Math.max(rest, now - below)) : kept;
    },
  };
}

/** Whether a person has run the cell of a turn on this page and is still there: it, or the cell after it, is the active one. */
function isRunByPerson(turn: HTMLElement, cell: Element): boolean {
  if (cell === turn) return true; // no notebook
  const isRunning = /\*/.test(cell.querySelector(".jp-InputPrompt")?.textContent ?? "");
  const isThere = [cell, cell.nextElementSibling].some((one) => one?.matches(".jp-mod-active"));
  return isRunning && isThere && navigator.userActivation?.hasBeenActive !== false;
}

/** Whether below a cell there is only an empty one, which is active: where Shift+Enter leads in the last cell. */
function isAboveNewCell(cell: Element): boolean {
  const next = cell.nextElementSibling;
  if (!next?.matches(`${CELL}.jp-mod-active`) || next.nextElementSibling?.matches(CELL)) return false;
  const lines = next.querySelectorAll(".cm-line");
  return lines.length <= 1 && !lines[0]?.textContent;
}
