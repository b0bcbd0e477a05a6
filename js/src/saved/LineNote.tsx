/** That a turn is not on the current line of its chat: the way back to it, and a name for its branch. */
import { Component, type JSX } from "preact";
import { CopyToChat } from "../views/CopyToChat";
import { InlineCode } from "../views/text/InlineCode";
import type { OfflineConnection } from "./offline";

export class LineNote extends Component<{ connection: OfflineConnection }> {
  #unsubscribe = (): void => {};

  override componentDidMount(): void {
    this.#unsubscribe = this.props.connection.subscribe(() => this.forceUpdate());
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
  }

  render(): JSX.Element | null {
    const { line } = this.props.connection;
    if (!line?.note) return null;
    return (
      <div class="nb-notice nb-info">
        <InlineCode text={line.note} />
        <div class="nb-row">
          <button type="button" class="nb-button" onClick={line.actions.goBack}>
            Go back here
          </button>
          <CopyToChat buttonClass="nb-button" name={line.actions.name} />
        </div>
      </div>
    );
  }
}
