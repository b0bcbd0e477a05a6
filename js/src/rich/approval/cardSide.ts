/** Where a card is, seen from the part of a notebook that is in sight. */
import { cellOf } from "../../kernel/pageServices";

export type Side = "seen" | "above" | "below" | "collapsed";

const SCROLLER = ".jp-WindowedPanel-outer";
const CELL = ".jp-Cell";

/** The part of the page that a card fills at least where it does not fit into it. */
const MOST_OF_PAGE = 0.8;

/** Pixels below a card that come into sight with it: the line with what its turn does. */
const FOOT = 80;

/** Pixels that are left free between a card and the edge of the page. */
const MARGIN = 12;

/** Return whether a card is fully in sight, or fills most of the page, is collapsed, or on which side more of it is. */
export function sideOf(card: HTMLElement, panel: HTMLElement): Side {
  const view = viewOf(panel);
  if (!view.height) return "seen"; // another tab is in front: this notebook shows nothing, nor its pill
  const cell = cellOf(card);
  if (!(cell ?? card).isConnected) return detachedSide(cell, panel);
  const isFolded = !card.getClientRects().length;
  const { top, bottom, height } = (isFolded ? (cell ?? card) : card).getBoundingClientRect();
  const visible = Math.min(bottom, view.bottom) - Math.max(top, view.top);
  const wanted = Math.min(height, view.height * MOST_OF_PAGE);
  if (isFolded && visible >= wanted - 1) return "collapsed";
  if (!isFolded && visible >= wanted - 1) return "seen";
  return top + bottom < view.top + view.bottom ? "above" : "below";
}

/** Scroll so that all of a card is in sight, or its beginning where it is longer than the page. */
export function alignCard(card: HTMLElement, panel: HTMLElement): void {
  const view = viewOf(panel);
  const scroller = panel.querySelector(SCROLLER);
  if (!scroller || !card.isConnected) return;
  const el = card.getClientRects().length ? card : (cellOf(card) ?? card);
  const { top, bottom, height } = el.getBoundingClientRect();
  const end = card.closest(".nb-turn")?.getBoundingClientRect().bottom ?? bottom;
  const above = top - view.top - MARGIN;
  const below = (end - bottom < FOOT ? end : bottom) - view.bottom + MARGIN;
  if (above < 0 || height > view.height - 2 * MARGIN) scroller.scrollTop += above;
  else if (below > 0) scroller.scrollTop += below;
}

/** The side of a card whose cell JupyterLab has taken out of the page. */
function detachedSide(cell: HTMLElement | undefined, panel: HTMLElement): Side {
  const first = panel.querySelector<HTMLElement>(`${SCROLLER} ${CELL}`);
  return indexOf(cell) < indexOf(first) ? "above" : "below";
}

/** The place of a cell in its notebook, as JupyterLab writes it. */
function indexOf(cell: Element | null | undefined): number {
  return Number(cell instanceof HTMLElement ? cell.dataset.windowedListIndex : undefined);
}

function viewOf(panel: HTMLElement): DOMRect {
  return (panel.querySelector(SCROLLER) ?? panel).getBoundingClientRect();
}
