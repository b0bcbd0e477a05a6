import { Component, type JSX } from "preact";
import type { Connection } from "../connection";
import type { Block } from "../protocol";
import { Approval } from "./Approval";
import { Call } from "./Call";
import { Footer } from "./Footer";
import { Header } from "./Header";
import { Notice } from "./Notice";
import { Reply } from "./Reply";
import { Thinking } from "./Thinking";

/** One turn: its state, its blocks in order, and what it cost. */
export class Turn extends Component<{ connection: Connection }> {
  #undo = (): void => {};

  override componentDidMount(): void {
    this.#undo = this.props.connection.subscribe(() => this.forceUpdate());
  }

  override componentWillUnmount(): void {
    this.#undo();
  }

  render(): JSX.Element {
    const { connection } = this.props;
    const shown = connection.shown();
    return (
      <section class="nb-turn" aria-label="Chat turn" data-lm-suppress-shortcuts="true">
        <Header shown={shown} stop={connection.stop} />
        {shown.document.blocks.map((block) => (
          <div key={block.id}>{view(block, connection)}</div>
        ))}
        <Footer head={shown.document.head} />
      </section>
    );
  }
}

function view(block: Block, { shown, decide }: Connection): JSX.Element {
  switch (block.kind) {
    case "text":
      return <Reply block={block} />;
    case "thinking":
      return <Thinking block={block} />;
    case "notice":
      return <Notice block={block} />;
    case "call":
      return (
        <>
          <Call block={block} />
          {block.question && (
            <Approval
              key={block.question.digest}
              call={block}
              asked={block.question}
              shown={shown()}
              decide={decide}
            />
          )}
        </>
      );
  }
}
