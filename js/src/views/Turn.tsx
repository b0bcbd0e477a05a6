import { Component, type ComponentChildren, type JSX } from "preact";
import { type Connection, isLive } from "../kernel/turn";
import { Activity } from "./Activity";
import { mayAsk } from "./approval/pending";
import { Blocks } from "./Blocks";
import { Footer } from "./Footer";
import { LazyMedia } from "./LazyMedia";
import { LazyView } from "./LazyView";
import { KEY_PROPS } from "./notebookKeys";
import { PlainApproval } from "./PlainApproval";

interface Props {
  connection: Connection;
  /** What stands last in the line of the footer. */
  children?: ComponentChildren;
  /** What stands below the footer. */
  below?: ComponentChildren;
}

/** One turn: its blocks in order, what waits, its state and what it cost. */
export class Turn extends Component<Props> {
  #unsubscribe = (): void => {};
  #wasLive = false;
  /** When this page first showed it running. */
  #since = Date.now();

  override componentDidMount(): void {
    this.#unsubscribe = this.props.connection.subscribe(() => this.forceUpdate());
  }

  override componentWillUnmount(): void {
    this.#unsubscribe();
  }

  render(): JSX.Element {
    const { connection } = this.props;
    const shown = connection.state();
    const { head, blocks } = shown.document;
    if (isLive(shown.document)) this.#wasLive = true;
    else this.#since = Date.now(); // the calls of programs run again later
    return (
      <section class="nb-turn" aria-label="Chat turn" {...KEY_PROPS}>
        {head.attached && (
          <LazyMedia media={head.attached} bytes={shown.media} requestMedia={connection.requestMedia} />
        )}
        <Blocks blocks={blocks} connection={connection} />
        {mayAsk(shown.document) && (
          <LazyView
            view="approval"
            props={{
              connection,
              document: shown.document,
              sent: shown.requests,
              link: shown.link,
              media: shown.media,
            }}
          >
            <PlainApproval connection={connection} />
          </LazyView>
        )}
        {head.fixes !== undefined && !isLive(shown.document) && (
          <LazyView view="fix" props={{ document: shown.document, insertCell: connection.insertCell }} />
        )}
        <Footer document={shown.document} connection={connection} end={this.props.children}>
          <Activity state={shown} since={this.#since} stop={connection.stop} />
        </Footer>
        {head.adds && isLive(shown.document) && (
          <LazyView
            view="addition"
            props={{ connection, document: shown.document, requests: shown.requests }}
          />
        )}
        {shown.insertedCell && (
          <LazyView view="insertedCell" props={{ cell: shown.insertedCell, close: connection.dismissCell }} />
        )}
        {this.props.below}
        {this.#wasLive && <LazyView view="liveTurn" props={{ blocks, status: head.status }} />}
      </section>
    );
  }
}
