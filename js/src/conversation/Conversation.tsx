import { Component, createRef, type JSX } from "preact";
import type { ModelChoice } from "../generated";
import { cellRunner } from "../kernel/pageServices";
import { escapeInvisible, plural, singleLine } from "../text/format";
import { actionText } from "../views/actions";
import { InsertedCellNotice } from "../views/InsertedCell";
import { KEY_PROPS } from "../views/notebookKeys";
import { Turn } from "../views/Turn";
import { LongText } from "../views/text/AppendOnlyText";
import { Composer } from "./Composer";
import type { ConversationClient } from "./client";

/** The active line from its beginning to its end, and a box to go on in. */
export class Conversation extends Component<{ client: ConversationClient }> {
  #unsubscribe = (): void => {};
  #root = createRef<HTMLElement>();

  override componentDidMount(): void {
    this.#unsubscribe = this.props.client.subscribe(() => this.forceUpdate());
  }

  /** Add the cell of a prompt below, and run it where the page can. */
  #submit = (text: string, model: ModelChoice | undefined, isCell: boolean): void => {
    const { client } = this.props;
    client.insertPrompt(text, model);
    const id = client.state().insertedCell?.placed?.cell?.id;
    if (!isCell && id && this.#root.current && cellRunner()?.runCell(this.#root.current, id))
      client.dismissCell();
  };

  override componentWillUnmount(): void {
    this.#unsubscribe();
  }

  render(): JSX.Element {
    const { client } = this.props;
    const { turns, leftOut, models, insertedCell, hasNoReply } = client.state();
    return (
      <section
        ref={this.#root}
        class="nb-conversation nb-turn"
        aria-label={singleLine(client.title, 80)}
        {...KEY_PROPS}
      >
        <header class="nb-header">
          <b>{singleLine(client.title, 80)}</b>
          {client.isSaved ? (
            <span class="nb-muted nb-saved-mark">saved with the notebook</span>
          ) : (
            <>
              <button
                type="button"
                class="nb-text-button"
                title={actionText("export").title}
                onClick={client.insertExport}
              >
                {actionText("export").name}
              </button>
              <button type="button" class="nb-text-button" onClick={client.refresh}>
                Refresh
              </button>
            </>
          )}
        </header>
        {hasNoReply && (
          <p class="nb-muted" role="status">
            No reply from the kernel yet: it is busy, or has stopped.
          </p>
        )}
        {client.note && <p class="nb-muted">{client.note}</p>}
        {leftOut > 0 && <p class="nb-muted">… {plural(leftOut, "earlier turn")} not shown here</p>}
        {turns?.map(({ prompt, turn }, n) => (
          <article key={turn.state().document.head.turn_id} class="nb-exchange">
            <p class="nb-prompt" dir="auto">
              <span class="nb-number" title="The number of this turn, as in %chat show">
                {leftOut + n + 1}
              </span>
              <LongText text={escapeInvisible(prompt)} />
            </p>
            <Turn connection={turn} />
          </article>
        ))}
        {turns?.length === 0 && <p class="nb-muted">No turns yet.</p>}
        {insertedCell && <InsertedCellNotice cell={insertedCell} close={client.dismissCell} />}
        {!client.isSaved && (
          <Composer models={models} canSend={cellRunner() !== undefined} onSubmit={this.#submit} />
        )}
      </section>
    );
  }
}
