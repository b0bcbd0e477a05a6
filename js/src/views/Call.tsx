/** One call of the log: its line, and its details in a fold. */
import { Component, type JSX } from "preact";
import type { CallBlock } from "../protocol";
import { callState, escapeInvisible, MAX_FACTS, omittedMarker, singleLine } from "../text/format";
import { LazyView } from "./LazyView";
import { LongText } from "./text/AppendOnlyText";

/** Characters of the arguments in the line of a call. */
const MAX_ARGUMENTS = 80;

interface CallProps {
  block: CallBlock;
  /** Whether its result stands below it, and not in its line. */
  hasResult: boolean;
}

/** One call: a line with its state, and its details in a fold, rendered when it is first opened. */
export class Call extends Component<CallProps, { isOpen: boolean }> {
  override state = { isOpen: false };

  override shouldComponentUpdate({ block, hasResult }: CallProps, { isOpen }: { isOpen: boolean }): boolean {
    const { props } = this;
    return block !== props.block || hasResult !== props.hasResult || isOpen !== this.state.isOpen;
  }

  render(): JSX.Element {
    const { block, hasResult } = this.props;
    return (
      <details
        class={`nb-fold nb-call nb-is-${block.state}`}
        onToggle={(event) => this.setState({ isOpen: event.currentTarget.open })}
      >
        <summary>
          <CallLine block={block} isOpen={this.state.isOpen || hasResult} />
        </summary>
        {this.state.isOpen && (
          <div class="nb-fold-body">
            <LazyView view="call" props={{ block }}>
              <Plain block={block} />
            </LazyView>
          </div>
        )}
      </details>
    );
  }
}

/** A call in a line: its state, its arguments, the first line of what came of it where it is not open, and how it went. */
export function CallLine({ block, isOpen }: { block: CallBlock; isOpen: boolean }): JSX.Element {
  const [sign, word] = callState(block);
  return (
    <>
      <span class="nb-state" role="img" aria-label={word}>
        {sign}
      </span>
      <code class="nb-line">
        <b>{singleLine(block.name, 64)}</b>({singleLine(block.line ?? block.arguments, MAX_ARGUMENTS)})
      </code>
      {block.fraction !== null && (
        <progress max={1} value={block.fraction} aria-label={firstLine(block) || "Progress"} />
      )}
      {!isOpen && <FirstLine block={block} />}
      <span class="nb-muted nb-facts">{facts(block)}</span>
    </>
  );
}

const NOTE = /^\[[^\]\n]*\]\n/;

/** The first line of what came of a call, so that nobody has to open it for a short result. */
function FirstLine({ block }: { block: CallBlock }): JSX.Element | null {
  const line = firstLine(block);
  return line ? <span class="nb-muted nb-line nb-first-line">{line}</span> : null;
}

/**
 * While a call runs the last line of its output, which says what it does; without a result the reason why there is none. A
 * line in brackets before the result of a call that was edited is a note for the model. Of indented JSON, whose first line
 * is a bracket, it is the beginning of all of it.
 */
export function firstLine({ state, result, reason, progress, asked_arguments }: CallBlock): string {
  if (state === "running") return singleLine(progress.trimEnd().split("\n").at(-1) ?? "");
  const text = result.replace(asked_arguments === undefined ? "" : NOTE, "").trim() || reason;
  return singleLine(/^[[{]+\n/.test(text) ? text : (text.split("\n", 1)[0] ?? ""));
}

/** How a call went, and how far it is. */
function facts(block: CallBlock): string {
  const words = singleLine(block.facts ?? callState(block)[1], MAX_FACTS);
  return block.fraction === null ? words : `${Math.round(block.fraction * 100)} % · ${words}`;
}

/** The texts of a call as they are. */
function Plain({ block }: { block: CallBlock }): JSX.Element {
  const texts = [
    ["Arguments", escapeInvisible(block.arguments), block.more.arguments],
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
              <div class="nb-title nb-muted">{title}</div>
              <pre class="nb-code nb-prewrap">
                <LongText text={text} />
                {omitted ? `\n${omittedMarker(omitted)}` : ""}
              </pre>
            </>
          ),
      )}
    </>
  );
}
