/** What a person does that may scroll: wheel, finger, keys, pointer. */

/** Milliseconds for which the page scrolls after what a person did, with momentum. */
const MOMENTUM_MS = 1_000;

/** Milliseconds in which JupyterLab may still scroll to the next cell after one was run. */
const START_MS = 600;

const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/** Records what a person does, so that their scrolling is told from the page's own. */
export class ScrollInput {
  #onAction: (target: EventTarget | null) => void;
  #at = Number.NEGATIVE_INFINITY;
  #began = Number.NEGATIVE_INFINITY;
  #isDown = false;

  /** `onAction` is called with what a key or the pointer was pressed on. */
  constructor(onAction: (target: EventTarget | null) => void) {
    this.#onAction = onAction;
  }

  start(): void {
    for (const name of MOVES) addEventListener(name, this.#onMove, { capture: true, passive: true });
    addEventListener("pointerup", this.#onUp, true);
  }

  stop(): void {
    for (const name of MOVES) removeEventListener(name, this.#onMove, true);
    removeEventListener("pointerup", this.#onUp, true);
  }

  /** Forget what was done before a cell has run. */
  reset(): void {
    this.#at = Number.NEGATIVE_INFINITY;
    this.#began = performance.now();
  }

  /**
   * Whether a scrolling that nothing here did is a person's. What scrolls without a key or the pointer, such as a script for
   * accessibility, is theirs too, but not where JupyterLab scrolls by itself: after a cell was run, and always where it
   * attaches only the cells in sight.
   */
  isByPerson(hasOwnScrolling: boolean): boolean {
    const now = performance.now();
    if (this.#isDown || now - this.#at < MOMENTUM_MS) return true;
    return !hasOwnScrolling && now - this.#began > START_MS;
  }

  #onMove = ({ type, target }: Event): void => {
    this.#at = performance.now();
    if (type === "pointerdown") this.#isDown = true;
    if (type === "pointerdown" || type === "keydown") this.#onAction(target);
  };

  #onUp = (): void => {
    this.#isDown = false;
    this.#at = performance.now();
  };
}
