/** What a person does on the page that may scroll it: wheel, finger, keys, pointer. */

/** Milliseconds for which the page scrolls after what a person did, with momentum. */
const MOMENTUM_MS = 1_000;

/** Milliseconds in which JupyterLab may still scroll to the next cell after one was run. */
const START_MS = 600;

const SCROLL_KEYS = ["PageUp", "PageDown", "Home", "End", "ArrowUp", "ArrowDown"];
const EVENTS = ["wheel", "touchmove", "keydown", "pointerdown", "pointerup", "scroll"] as const;

/** Records what a person does, so that their scrolling is told from the page's own. */
export class ScrollInput {
  /** When anything was done that may scroll. */
  #inputAt = Number.NEGATIVE_INFINITY;
  /** When the person scrolled, and when they acted at one place of the page. */
  #scrolledAt = Number.NEGATIVE_INFINITY;
  #actedAt = Number.NEGATIVE_INFINITY;
  #isDown = false;
  #listeners = new Set<(target: EventTarget | null) => void>();

  /** Begin to record; it goes on as long as the page. */
  constructor() {
    for (const name of EVENTS) addEventListener(name, this.#onEvent, { capture: true, passive: true });
  }

  /** Whether the person has scrolled since they last pressed a key or clicked, as to run a cell. */
  hasScrolledAway(): boolean {
    return this.#scrolledAt > this.#actedAt;
  }

  /**
   * Whether a scrolling that nothing here did is a person's, for a place that is kept since `began`. What scrolls without
   * a key or the pointer, such as a script for accessibility, is theirs too, but not where JupyterLab scrolls by itself:
   * after a cell was run, and where it corrects the heights of cells.
   */
  isByPerson(began: number, isCorrection: boolean): boolean {
    const now = performance.now();
    if (this.#isDown || (this.#inputAt > began && now - this.#inputAt < MOMENTUM_MS)) return true;
    return !isCorrection && now - began > START_MS;
  }

  /** Call back with what a key or the pointer is pressed on; return what ends that. */
  onAction(listener: (target: EventTarget | null) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #onEvent = (event: Event): void => {
    const now = performance.now();
    const { type, target } = event;
    if (type === "scroll") {
      if (this.#isDown) this.#scrolledAt = now; // the scroll bar is dragged
      return;
    }
    this.#inputAt = now;
    if (type === "pointerdown") this.#isDown = true;
    if (type === "pointerup") this.#isDown = false;
    const isScrolling = type === "wheel" || type === "touchmove" || isScrollKey(event);
    if (isScrolling) this.#scrolledAt = now;
    else if (type !== "pointerup") this.#act(target, now);
  };

  #act(target: EventTarget | null, now: number): void {
    this.#actedAt = now;
    for (const listener of [...this.#listeners]) listener(target);
  }
}

function isScrollKey(event: Event): boolean {
  return event instanceof KeyboardEvent && SCROLL_KEYS.includes(event.key);
}
