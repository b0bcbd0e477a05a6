import type { JSX } from "preact";
import type { CallBlock } from "../protocol";
import {
  decisionLine,
  longArguments,
  marker,
  oneLine,
  STATES,
  seconds,
  shortArguments,
  visible,
} from "../text";

/** One call: a line that says how it stands, and all of it in the fold. */
export function Call({ block }: { block: CallBlock }): JSX.Element {
  const [sign, word] = STATES[block.state] ?? STATES.unknown;
  const facts = [
    block.state !== "ok" && !block.decisions.some(({ verdict }) => verdict === block.state) && word,
    block.fraction !== null && `${Math.round(block.fraction * 100)} %`,
    block.started !== null && block.seconds !== null && seconds(block.seconds),
    ...block.decisions.map(({ verdict, by }) => `${verdict} by ${oneLine(by, 40)}`),
  ].filter(Boolean);
  return (
    <details class={`nb-fold nb-call nb-is-${block.state}`}>
      <summary>
        <span class="nb-state">{sign}</span>
        <code class="nb-line">
          <b>{oneLine(block.name, 64)}</b>({shortArguments(block.arguments)})
        </code>
        <span class="nb-quiet nb-facts">{facts.join(" · ")}</span>
      </summary>
      <div class="nb-inside">
        <Titled title="Arguments" text={longArguments(block.arguments)} omitted={block.more.arguments} />
        <Titled title="Resolved" text={resolved(block)} />
        {block.decisions.map((decided) => (
          <p>{decisionLine(decided)}</p>
        ))}
        {saysMore(block) && <p>{oneLine(block.reason, 2000)}</p>}
        <Titled title="Output" text={block.progress} omitted={block.more.progress} />
        <Titled title="Result" text={block.result} omitted={block.more.result} />
        {block.reference && <p class="nb-quiet">Kept as {oneLine(block.reference)}</p>}
      </div>
    </details>
  );
}

interface TitledProps {
  title: string;
  text: string;
  omitted?: number | undefined;
}

/** A text under its title; nothing where there is none. */
function Titled({ title, text, omitted }: TitledProps): JSX.Element | null {
  if (!text.trim()) return null;
  return (
    <>
      <div class="nb-title nb-quiet">{title}</div>
      <pre class="nb-code nb-prewrap">
        {text}
        {omitted ? <i class="nb-quiet">{`\n${marker(omitted)}`}</i> : null}
      </pre>
    </>
  );
}

/** What each reference stood for, where there were any. */
function resolved({ arguments: written, resolved }: CallBlock): string {
  if (!written.includes("$VAR_REF")) return "";
  return visible(
    Object.entries(resolved)
      .map(([key, value]) => `${key} = ${value}`)
      .join("\n"),
  );
}

/** Whether the reason says what neither a decision nor the result says. */
function saysMore({ reason, decisions, result }: CallBlock): boolean {
  return reason !== "" && ![result, ...decisions.map((decided) => decided.reason)].includes(reason);
}
