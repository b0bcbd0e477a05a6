/** What is read stays where it is while turns of a page grow, are decided and end. */
import { findScroller } from "../../views/scroller";
import { choosePlace, type Place } from "./place";
import { ScrollInput } from "./scrollInput";

/** JupyterLab's elements: a cell, what scrolls a notebook, and the two boxes in it that are as high as its cells. */
const CELL = ".jp-Cell";
const NOTEBOOK_SCROLLER = ".jp-WindowedPanel-outer";
const NOTEBOOK_BOXES = ".jp-WindowedPanel-inner, .jp-WindowedPanel-viewport";

/** Milliseconds for which a place is kept after a turn has ended: its output is then drawn again. */
const KEEP_MS = 1_000;

/** Heights of the page, as parts of it, at which the element is looked for that a person reads. */
const READING_HEIGHTS = [1 / 3, 1 / 2, 2 / 3, 0.1];

const input = new ScrollInput();
const anchors = new Map<Element, ScrollAnchor>();

/**
 * Keep what is read where it is while a turn lives; return what ends that. A turn that the person has just run moves along
 * as it grows until its prompt is at the top of the page; in the last cell its prompt goes there at once. Once the person
 * scrolls, nothing scrolls for it again.
 */
export function keepScroll(turn: HTMLElement): () => void {
  let release: (() => void) | undefined;
  // a view may be drawn before it is attached to the page: it has a size from then on
  const attached = new ResizeObserver(() => {
    if (!turn.isConnected) return;
    attached.disconnect();
    release = anchorOf(turn).add(turn);
  });
  attached.observe(turn);
  return () => {
    attached.disconnect();
    release?.();
  };
}

function anchorOf(turn: HTMLElement): ScrollAnchor {
  const scroller = turn.closest(NOTEBOOK_SCROLLER) ?? findScroller(turn);
  const anchor = anchors.get(scroller) ?? new ScrollAnchor(scroller);
  anchors.set(scroller, anchor);
  return anchor;
}

/** The place that one scrolling box keeps for the turns in it. */
class ScrollAnchor {
  #scroller: Element;
  #turns = new Set<HTMLElement>();
  /** Those that have ended, with their cells. */
  #ending = new Map<HTMLElement, Element>();
  /** The element that stays at its distance from the top of the box. */
  #kept: { el: Element; top: number } | undefined;
  /** The turn that the page moves along with. */
  #place: Place | undefined;
  /** Where the box was scrolled to last by this anchor, or by a person. */
  #expected = 0;
  /** When it began to be kept. */
  #began = 0;
  #sizes = new ResizeObserver(() => this.#settle());
  #styles = new MutationObserver(() => this.#settle());
  #ownAnchor = "";
  #stopListening = (): void => {};

  constructor(scroller: Element) {
    this.#scroller = scroller;
  }

  add(turn: HTMLElement): () => void {
    if (!this.#turns.size) this.#start();
    this.#turns.add(turn);
    const cell = turn.closest(CELL) ?? turn;
    this.#sizes.observe(cell);
    const place = input.hasScrolledAway() ? undefined : choosePlace(turn, cell, this.#view());
    if (place) {
      this.#place = place;
      this.#kept = { el: cell, top: place.isAtOnce ? place.rest : this.#topOf(cell) };
      this.#began = performance.now();
    }
    this.#settle();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#ending.set(turn, cell);
      setTimeout(() => this.#remove(turn, cell), KEEP_MS);
    };
  }

  #remove(turn: HTMLElement, cell: Element): void {
    if (!this.#turns.delete(turn)) return;
    this.#ending.delete(turn);
    if (this.#place?.turn === turn) this.#place = undefined;
    this.#sizes.unobserve(cell);
    if (!this.#turns.size) this.#end();
  }

  #end(): void {
    this.#turns.clear();
    this.#stopListening();
    this.#sizes.disconnect();
    this.#styles.disconnect();
    this.#target().removeEventListener("scroll", this.#onScroll);
    if (this.#scroller instanceof HTMLElement) this.#scroller.style.overflowAnchor = this.#ownAnchor;
    anchors.delete(this.#scroller);
  }

  /** The browser's own scroll anchoring keeps the place of the focused editor below, and not of what is read. */
  #start(): void {
    if (this.#scroller instanceof HTMLElement) {
      this.#ownAnchor = this.#scroller.style.overflowAnchor;
      this.#scroller.style.overflowAnchor = "none";
    }
    this.#stopListening = input.onAction(this.#onAction);
    this.#expected = this.#scroller.scrollTop;
    this.#target().addEventListener("scroll", this.#onScroll, { passive: true });
    this.#sizes.observe(this.#scroller);
    for (const box of this.#scroller.querySelectorAll(NOTEBOOK_BOXES)) {
      this.#sizes.observe(box);
      this.#styles.observe(box, { attributeFilter: ["style"] });
    }
    this.#choose();
  }

  /** Keep the place after a change of the layout. */
  #settle(): void {
    if (!this.#view().height) return; // another tab is in front
    if (this.#isScrolledByPerson()) {
      this.#place = undefined;
      this.#choose();
      return;
    }
    const { el } = this.#kept ?? {};
    if (!this.#kept || !el?.isConnected) {
      this.#choose();
      return;
    }
    if (this.#place?.isFollowing)
      this.#kept.top = this.#place.follow(this.#kept.top, this.#topOf(el), this.#view());
    const by = this.#topOf(el) - this.#kept.top;
    if (Math.abs(by) >= 0.5) this.#scroller.scrollTop += by;
    this.#expected = this.#scroller.scrollTop;
  }

  #onScroll = (): void => {
    const moved = Math.abs(this.#scroller.scrollTop - this.#expected);
    if (moved <= 1) return;
    if (!input.isByPerson(this.#began, this.#isCorrection(moved))) {
      this.#settle();
      return;
    }
    this.#place = undefined;
    this.#choose();
  };

  /** Whether somebody has scrolled since: a page that got shorter, or JupyterLab's correction of a height, is nobody. */
  #isScrolledByPerson(): boolean {
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const moved = Math.abs(scrollTop - this.#expected);
    const isShortened = scrollTop < this.#expected && scrollTop + clientHeight >= scrollHeight - 1;
    if (moved <= 1 || isShortened) return false;
    return !this.#isCorrection(moved) && input.isByPerson(this.#began, false);
  }

  /** Where JupyterLab attaches only the cells in sight, it scrolls by the heights of those that change. */
  #isCorrection(moved: number): boolean {
    return this.#ownAnchor === "none" && moved < this.#view().height / 2;
  }

  /** A person who acts elsewhere is not moved along, not even with a turn that grows. */
  #onAction = (target: EventTarget | null): void => {
    const isInEnding = [...this.#ending.values()].some(
      (cell) => target instanceof Node && cell.contains(target),
    );
    if (this.#ending.size === this.#turns.size && !isInEnding) {
      this.#end(); // what follows is theirs
      return;
    }
    const { turn } = this.#place ?? {};
    if (this.#place && !(target instanceof Node && turn?.contains(target))) this.#place.isFollowing = false;
  };

  /** Keep the place of what is read now: the cell that stands in the upper part of the page. */
  #choose(): void {
    this.#expected = this.#scroller.scrollTop;
    const { top, left, height, width } = this.#view();
    for (const part of READING_HEIGHTS) {
      const at = document.elementFromPoint(left + width / 2, top + height * part);
      const el = at && this.#scroller.contains(at) ? (at.closest(CELL) ?? this.#turnAround(at)) : null;
      if (!el) continue;
      this.#kept = { el, top: this.#topOf(el) };
      return;
    }
    this.#kept = undefined;
  }

  #turnAround(el: Element): Element | null {
    return [...this.#turns].find((turn) => turn.contains(el)) ?? null;
  }

  /** The part of the window in which the box is seen. */
  #view(): DOMRect {
    if (this.#scroller === document.scrollingElement) return new DOMRect(0, 0, innerWidth, innerHeight);
    return this.#scroller.getBoundingClientRect();
  }

  #topOf(el: Element): number {
    return el.getBoundingClientRect().top - this.#view().top;
  }

  #target(): Element | Document {
    return this.#scroller === document.scrollingElement ? document : this.#scroller;
  }
}
