import { Component, createRef, type JSX } from "preact";
import { Island } from "../kernel/lazy";
import type { Block, CallBlock } from "../protocol";
import { decisionFacts, longArguments, oneLine, STATES, seconds, shortArguments } from "../text/format";
import { LongText } from "../views/AppendOnlyText";
import { Pictures } from "../views/MediaList";
import { Notice } from "../views/Notice";
import { Reply } from "../views/Reply";
import { Thinking } from "../views/Thinking";
import type { Talk } from "./client";
import { type Deed, DeedButton } from "./TurnActions";

interface StepProps {
  block: Block;
  talk: Talk;
  turn: string;
  isPicked: boolean;
}

/** A block of the turn, as the live view shows it; a call with what can be done with it. */
export function StepBlock({ block, talk, turn, isPicked }: StepProps): JSX.Element {
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
          <Called block={block} talk={talk} turn={turn} isPicked={isPicked} />
          {(block.media || block.media_left_out) && (
            <Pictures
              media={block.media ?? []}
              leftOut={block.media_left_out ?? 0}
              bytes={talk.heard().media}
              look={(key) => talk.look(turn, key)}
            />
          )}
        </>
      );
  }
}

interface CalledProps extends StepProps {
  block: CallBlock;
}

class Called extends Component<CalledProps, { isOpen: boolean }> {
  override state = { isOpen: false };
  #el = createRef<HTMLDetailsElement>();

  override componentDidUpdate(before: CalledProps): void {
    if (!this.props.isPicked || before.isPicked) return;
    this.setState({ isOpen: true });
    this.#el.current?.scrollIntoView({ block: "nearest" });
    this.#el.current?.querySelector("summary")?.focus();
  }

  render(): JSX.Element {
    const { block } = this.props;
    const [sign, word] = STATES[block.state] ?? STATES.unknown;
    return (
      <details
        class={`nb-fold nb-call nb-is-${block.state}`}
        ref={this.#el}
        open={this.state.isOpen}
        onToggle={(event) => this.setState({ isOpen: event.currentTarget.open })}
      >
        <summary>
          <span class="nb-state" role="img" aria-label={word}>
            {sign}
          </span>
          <code class="nb-line">
            <b>{oneLine(block.name, 64)}</b>({shortArguments(block.arguments)})
          </code>
          <span class="nb-quiet nb-facts">{facts(block, word)}</span>
        </summary>
        {this.state.isOpen && (
          <div class="nb-inside">
            <Island view="call" props={{ block }}>
              <pre class="nb-code nb-prewrap">
                <LongText text={longArguments(block.arguments)} />
              </pre>
              <pre class="nb-code nb-prewrap">
                <LongText text={block.result} />
              </pre>
            </Island>
            {this.#deeds()}
          </div>
        )}
      </details>
    );
  }

  #deeds(): JSX.Element {
    const { block, talk, turn } = this.props;
    const offer = (deed: Deed, label: string, round: number, call = ""): JSX.Element | false =>
      talk.acts.includes(deed) && (
        <DeedButton label={label} press={() => talk.write({ deed, turn, round, call })} />
      );
    return (
      <div class="nb-row nb-x-deeds">
        {offer("execute", `Run round ${block.round} again`, block.round)}
        {offer("rerun", `Ask again from round ${block.round + 1}`, block.round + 1)}
        {block.state === "ok" && offer("code", "As code", 0, block.call_id)}
        {block.reference !== "" && offer("bind", "Bind the result", 0, block.call_id)}
      </div>
    );
  }
}

function facts(block: CallBlock, word: string): string {
  const isTold = block.state === "ok" || block.decisions.some(({ verdict }) => verdict === block.state);
  return [
    !isTold && word,
    block.started !== null && block.seconds !== null && seconds(block.seconds),
    ...decisionFacts(block.decisions),
  ]
    .filter(Boolean)
    .join(" · ");
}
