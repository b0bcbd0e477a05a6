import { Component, type JSX } from "preact";
import type { Block } from "../protocol";
import { highlightMatches, matchingBlocks, openAncestors } from "./search";

/** Milliseconds for which a fold that was opened may still fill itself. */
const FOLD_FILL_MS = 1_500;

interface FindProps {
  blocks: readonly Block[];
  /** The element that contains the turn. */
  turn: () => Element | null;
}

/** A field that finds a word in the whole turn, folded or not: Enter moves to the next block that contains it. */
export class Find extends Component<FindProps, { word: string; at: number }> {
  override state = { word: "", at: 0 };
  #fillObserver: MutationObserver | undefined;

  override componentWillUnmount(): void {
    this.#fillObserver?.disconnect();
    const turn = this.props.turn();
    if (turn && this.state.word) highlightMatches(turn, "", null);
  }

  #search = (word: string): void => {
    this.setState({ word, at: 0 });
    this.#show(word, 0);
  };

  #step = (step: number): void => {
    const { word, at } = this.state;
    const count = matchingBlocks(this.props.blocks, word).length;
    const next = count ? (at + step + count) % count : 0;
    this.setState({ at: next });
    this.#show(word, next);
  };

  /** Open the block that is meant, mark the word, and bring it into sight; again while the fold fills itself. */
  #show(word: string, at: number): void {
    const turn = this.props.turn();
    this.#fillObserver?.disconnect();
    if (!turn) return;
    const place = matchingBlocks(this.props.blocks, word)[at];
    const el = place === undefined ? null : (turn.querySelectorAll(".nb-block-item")[place] ?? null);
    if (el) openAncestors(el);
    const found = highlightMatches(turn, word, el);
    (found?.startContainer.parentElement ?? el)?.scrollIntoView({ block: "nearest" });
    if (el && !found) this.#watchFold(turn, word, el);
  }

  #watchFold(turn: Element, word: string, el: Element): void {
    const observer = new MutationObserver(() => {
      openAncestors(el); // the new content may be folded too
      const found = highlightMatches(turn, word, el);
      if (!found) return;
      observer.disconnect();
      found.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
    });
    observer.observe(el, { childList: true, subtree: true });
    this.#fillObserver = observer;
    setTimeout(() => observer.disconnect(), FOLD_FILL_MS);
  }

  #onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Enter") this.#step(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") this.#search("");
  };

  render(): JSX.Element {
    const { word, at } = this.state;
    const count = matchingBlocks(this.props.blocks, word).length;
    return (
      <span class="nb-find">
        <input
          type="search"
          placeholder="Find in this turn"
          aria-label="Find in this turn"
          maxLength={200}
          value={word}
          onInput={({ currentTarget }) => this.#search(currentTarget.value)}
          onKeyDown={this.#onKeyDown}
        />
        {word.trim() && (
          <>
            <span class="nb-muted" role="status">
              {count ? `${at + 1} of ${count}` : "no matches"}
            </span>
            <button type="button" class="nb-text-button" disabled={count < 2} onClick={() => this.#step(-1)}>
              Previous
            </button>
            <button type="button" class="nb-text-button" disabled={count < 2} onClick={() => this.#step(1)}>
              Next
            </button>
          </>
        )}
      </span>
    );
  }
}
