import { Component, createRef, type JSX } from "preact";
import { Island } from "../kernel/lazy";
import { type Connection, isLive } from "../kernel/turn";
import { Approval } from "./Approval";
import { isAsking } from "./approval/pending";
import { Blocks } from "./Blocks";
import { Footer } from "./Footer";
import { follow } from "./followScroll";
import { Header } from "./Header";
import { WrittenCell } from "./InsertedCell";
import { ownKeys } from "./keyboard";
import { Spoken } from "./LiveRegion";
import { Pictures } from "./MediaList";

/** One turn: its state, its blocks in order, and what it cost. */
export class Turn extends Component<{ connection: Connection }> {
  #undo = (): void => {};
  #el = createRef<HTMLElement>();
  #follow: ReturnType<typeof follow> | undefined;

  override componentDidMount(): void {
    this.#undo = this.props.connection.subscribe(() => this.forceUpdate());
    if (this.#el.current && isLive(this.props.connection.shown().document))
      this.#follow = follow(this.#el.current);
  }

  override componentDidUpdate(): void {
    this.#follow?.moved();
    if (isLive(this.props.connection.shown().document)) return;
    this.#follow?.stop();
    this.#follow = undefined;
  }

  override componentWillUnmount(): void {
    this.#undo();
    this.#follow?.stop();
  }

  render(): JSX.Element {
    const { connection } = this.props;
    const shown = connection.shown();
    const { head, blocks } = shown.document;
    return (
      <section
        class="nb-turn"
        aria-label="Chat turn"
        data-lm-suppress-shortcuts="true"
        onFocusCapture={ownKeys}
        ref={this.#el}
      >
        <Header shown={shown} stop={connection.stop} />
        {head.attached && <Pictures media={head.attached} bytes={shown.media} look={connection.look} />}
        <Blocks blocks={blocks} connection={connection} />
        {isAsking(shown.document) && (
          <Island
            view="approval"
            props={{
              connection,
              document: shown.document,
              sent: shown.sent,
              link: shown.link,
              media: shown.media,
            }}
          >
            <Approval connection={connection} />
          </Island>
        )}
        <Footer document={shown.document} act={connection.act} />
        {shown.written && <WrittenCell written={shown.written} close={connection.closeWritten} />}
        {isLive(shown.document) && <Spoken blocks={blocks} />}
        {head.status === "completed" && shown.link !== "still" && (
          <p class="nb-unseen" role="status">
            The turn is complete.
          </p>
        )}
      </section>
    );
  }
}
