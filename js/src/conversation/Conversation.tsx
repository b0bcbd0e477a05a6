import { Component, type JSX } from "preact";
import { counted, oneLine, visible } from "../text/format";
import { WrittenCell } from "../views/InsertedCell";
import { ownKeys } from "../views/keyboard";
import { Turn } from "../views/Turn";
import { Say } from "./Composer";
import type { Talk } from "./client";

/** The active line from its beginning to its end, and a box to go on in. */
export class Conversation extends Component<{ talk: Talk }> {
  #undo = (): void => {};

  override componentDidMount(): void {
    this.#undo = this.props.talk.subscribe(() => this.forceUpdate());
  }

  override componentWillUnmount(): void {
    this.#undo();
  }

  render(): JSX.Element {
    const { talk } = this.props;
    const { turns, leftOut, written, isSilent } = talk.heard();
    return (
      <section
        class="nb-conversation nb-turn"
        aria-label={oneLine(talk.title, 80)}
        data-lm-suppress-shortcuts="true"
        onFocusCapture={ownKeys}
      >
        <header class="nb-head">
          <b>{oneLine(talk.title, 80)}</b>
          <button type="button" class="nb-plain" onClick={talk.refresh}>
            Refresh
          </button>
        </header>
        {isSilent && (
          <p class="nb-quiet" role="status">
            The kernel has not answered yet: it is busy with a cell, or gone.
          </p>
        )}
        {leftOut > 0 && <p class="nb-quiet">… {counted(leftOut, "earlier turn")} not shown here</p>}
        {turns?.map(({ prompt, turn }) => (
          <article key={turn.shown().document.head.turn_id} class="nb-exchange">
            <p class="nb-prompt" dir="auto">
              {visible(prompt)}
            </p>
            <Turn connection={turn} />
          </article>
        ))}
        {turns?.length === 0 && <p class="nb-quiet">Nothing was said yet.</p>}
        {written && <WrittenCell written={written} close={talk.closeWritten} />}
        <Say say={talk.say} />
      </section>
    );
  }
}
