import { Component, type JSX } from "preact";
import type { Block } from "../protocol";
import { ownKeys } from "../views/keyboard";
import { finds, mark, reveal } from "./search";

/** Milliseconds for which a fold that was opened may still fill itself. */
const FILLING_MS = 1_500;

interface FindProps {
  blocks: readonly Block[];
  /** The element that the turn is drawn in. */
  turn: () => Element | null;
}

/** A field that finds a word in the whole of a turn, folded or not: Enter goes on to the next block that says it. */
export class Find extends Component<FindProps, { word: string; at: number }> {
  override state = { word: "", at: 0 };
  #filling: MutationObserver | undefined;

  override componentWillUnmount(): void {
    this.#filling?.disconnect();
    const turn = this.props.turn();
    if (turn && this.state.word) mark(turn, "", null);
  }

  #look = (word: string): void => {
    this.setState({ word, at: 0 });
    this.#show(word, 0);
  };

  #go = (step: number): void => {
    const { word, at } = this.state;
    const count = finds(this.props.blocks, word).length;
    const next = count ? (at + step + count) % count : 0;
    this.setState({ at: next });
    this.#show(word, next);
  };

  /** Open the block that is meant, mark the word, and bring it into sight; again while the fold fills itself. */
  #show(word: string, at: number): void {
    const turn = this.props.turn();
    this.#filling?.disconnect();
    if (!turn) return;
    const place = finds(this.props.blocks, word)[at];
    const el = place === undefined ? null : (turn.querySelectorAll(".nb-at")[place] ?? null);
    if (el) reveal(el);
    const found = mark(turn, word, el);
    (found?.startContainer.parentElement ?? el)?.scrollIntoView({ block: "nearest" });
    if (el && !found) this.#watch(turn, word, el);
  }

  #watch(turn: Element, word: string, el: Element): void {
    const filling = new MutationObserver(() => {
      reveal(el); // what has come may be folded too
      const found = mark(turn, word, el);
      if (!found) return;
      filling.disconnect();
      found.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
    });
    filling.observe(el, { childList: true, subtree: true });
    this.#filling = filling;
    setTimeout(() => filling.disconnect(), FILLING_MS);
  }

  #press = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Enter") this.#go(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") this.#look("");
  };

  render(): JSX.Element {
    const { word, at } = this.state;
    const count = finds(this.props.blocks, word).length;
    return (
      <div class="nb-find" data-lm-suppress-shortcuts="true" onFocusCapture={ownKeys}>
        <input
          type="search"
          placeholder="Find in this turn"
          aria-label="Find in this turn"
          maxLength={200}
          value={word}
          onInput={({ currentTarget }) => this.#look(currentTarget.value)}
          onKeyDown={this.#press}
        />
        {word.trim() && (
          <>
            <span class="nb-quiet" role="status">
              {count ? `${at + 1} of ${count}` : "nothing found"}
            </span>
            <button type="button" class="nb-plain" disabled={count < 2} onClick={() => this.#go(-1)}>
              Previous
            </button>
            <button type="button" class="nb-plain" disabled={count < 2} onClick={() => this.#go(1)}>
              Next
            </button>
          </>
        )}
      </div>
    );
  }
}
