import { Component, createRef, type JSX } from "preact";
import type { ActionId, Block, CallBlock } from "../protocol";
import { longArguments } from "../text/argumentLines";
import { actionsAt, actionText } from "../views/actions";
import { CallLine } from "../views/Call";
import { LazyView } from "../views/LazyView";
import { MediaList } from "../views/MediaList";
import { Notice } from "../views/Notice";
import { Reply } from "../views/Reply";
import { Thinking } from "../views/Thinking";
import { LongText } from "../views/text/AppendOnlyText";
import type { ExplorerClient } from "./client";
import { ActionButton } from "./TurnCommands";

interface StepProps {
  block: Block;
  client: ExplorerClient;
  turn: string;
  isSelected: boolean;
  /** Whether what is searched is in the fold of this block. */
  hasMatch: boolean;
}

/** A block of the turn, as the live view shows it; a call with what can be done with it. */
export function StepBlock(props: StepProps): JSX.Element {
  const { block, client, turn } = props;
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
          <StepCall {...props} block={block} />
          {(block.media || block.media_left_out) && (
            <MediaList
              media={block.media ?? []}
              omitted={block.media_left_out ?? 0}
              bytes={client.state().media}
              requestMedia={(key) => client.requestMedia(turn, key)}
            />
          )}
        </>
      );
  }
}

interface StepCallProps extends StepProps {
  block: CallBlock;
}

class StepCall extends Component<StepCallProps, { isOpen: boolean }> {
  override state = { isOpen: this.props.hasMatch };
  #el = createRef<HTMLDetailsElement>();

  override componentDidUpdate(before: StepCallProps): void {
    if (this.props.hasMatch && !before.hasMatch) this.setState({ isOpen: true });
    if (!this.props.isSelected || before.isSelected) return;
    this.setState({ isOpen: true });
    this.#el.current?.scrollIntoView({ block: "nearest" });
    this.#el.current?.querySelector("summary")?.focus();
  }

  render(): JSX.Element {
    const { block } = this.props;
    return (
      <details
        class={`nb-fold nb-call nb-is-${block.state}`}
        ref={this.#el}
        open={this.state.isOpen}
        onToggle={(event) => this.setState({ isOpen: event.currentTarget.open })}
      >
        <summary>
          <CallLine block={block} isOpen={this.state.isOpen} />
        </summary>
        {this.state.isOpen && (
          <div class="nb-fold-body">
            <LazyView view="call" props={{ block }}>
              <pre class="nb-code nb-prewrap">
                <LongText text={longArguments(block.arguments)} />
              </pre>
              <pre class="nb-code nb-prewrap">
                <LongText text={block.result} />
              </pre>
            </LazyView>
            {this.#renderActions()}
          </div>
        )}
      </details>
    );
  }

  #renderActions(): JSX.Element {
    const { block, client, turn } = this.props;
    const isFitting: Partial<Record<ActionId, boolean>> = {
      code: block.state === "ok",
      bind: block.reference !== "",
    };
    const round = block.round + 1;
    return (
      <div class="nb-row nb-x-actions">
        {actionsAt("call").map((action) => {
          const { name, title } = actionText(action, round);
          const press = (): void =>
            client.requestCell({
              action,
              turn,
              call: block.call_id,
              ...(action === "rerun_from" && { round }),
            });
          return (
            client.actions.includes(action) &&
            isFitting[action] !== false && (
              <ActionButton key={action} label={name} title={title} press={press} />
            )
          );
        })}
      </div>
    );
  }
}
