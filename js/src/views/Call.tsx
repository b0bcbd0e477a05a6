import { Component, type JSX } from "preact";
import { Island } from "../kernel/lazy";
import type { CallBlock } from "../protocol";
import {
  decisionFacts,
  EDITED,
  longArguments,
  marker,
  oneLine,
  STATES,
  seconds,
  shortArguments,
} from "../text/format";
import { LongText } from "./AppendOnlyText";

/** One call: a line that says how it stands, and all of it in the fold, made when it is first opened. */
export class Call extends Component<{ block: CallBlock }, { isOpen: boolean }> {
  override state = { isOpen: false };

  override shouldComponentUpdate({ block }: { block: CallBlock }, { isOpen }: { isOpen: boolean }): boolean {
    return block !== this.props.block || isOpen !== this.state.isOpen;
  }

  render(): JSX.Element {
    const { block } = this.props;
    const [sign, word] = STATES[block.state] ?? STATES.unknown;
    return (
      <details
        class={`nb-fold nb-call nb-is-${block.state}`}
        onToggle={(event) => this.setState({ isOpen: event.currentTarget.open })}
      >
        <summary>
          <span class="nb-state" role="img" aria-label={word}>
            {sign}
          </span>
          <code class="nb-line">
            <b>{oneLine(block.name, 64)}</b>({shortArguments(block.arguments)})
          </code>
          {block.fraction !== null && <progress max={1} value={block.fraction} aria-label="Progress" />}
          <span class="nb-quiet nb-facts">{facts(block, word)}</span>
        </summary>
        {this.state.isOpen && (
          <div class="nb-inside">
            <Island view="call" props={{ block }}>
              <Plain block={block} />
            </Island>
          </div>
        )}
      </details>
    );
  }
}

function facts(block: CallBlock, word: string): string {
  const isTold = block.state === "ok" || block.decisions.some(({ verdict }) => verdict === block.state);
  return [
    !isTold && word,
    block.fraction !== null && `${Math.round(block.fraction * 100)} %`,
    block.started !== null && block.seconds !== null && seconds(block.seconds),
    ...decisionFacts(block.decisions),
    block.asked_arguments !== undefined && !block.decisions.some(isCountedEdit) && EDITED,
  ]
    .filter(Boolean)
    .join(" · ");
}

function isCountedEdit({ edited, again }: CallBlock["decisions"][number]): boolean {
  return edited && again === undefined;
}

/** The texts of a call as they are. */
function Plain({ block }: { block: CallBlock }): JSX.Element {
  const texts = [
    ["Arguments", longArguments(block.arguments), block.more.arguments],
    ["Output", block.progress, block.more.progress],
    ["Result", block.result, block.more.result],
    ["Traceback", block.traceback ?? "", block.more.traceback],
  ] as const;
  return (
    <>
      {texts.map(
        ([title, text, omitted]) =>
          text.trim() && (
            <>
              <div class="nb-title nb-quiet">{title}</div>
              <pre class="nb-code nb-prewrap">
                <LongText text={text} />
                {omitted ? `\n${marker(omitted)}` : ""}
              </pre>
            </>
          ),
      )}
    </>
  );
}
