import type { ComponentChildren, JSX } from "preact";
import type { CallBlock } from "../../protocol";
import { decisionLine, EDITED, marker, oneLine, seconds, visible } from "../../text/format";
import { Grown } from "../../views/AppendOnlyText";
import { Copy } from "../../views/Copy";
import { highlight } from "../highlight";
import { Code } from "../markdown/code";
import { readJson } from "./json";
import { ReferenceCard } from "./ReferenceCard";
import { Tree } from "./Tree";

/** All of one call: what was asked, what it stood for, who decided, what came of it, and what the model saw. */
export function Inside({ block }: { block: CallBlock }): JSX.Element {
  const { state, resolved, progress, result, shown, reference, repaired, more } = block;
  const references = Object.entries(resolved).filter(([, { references: found }]) => found.length > 0);
  return (
    <>
      <Part
        title={block.asked_arguments === undefined ? "Arguments" : `Arguments, ${EDITED}`}
        when={block.arguments.trim() !== ""}
      >
        <Arguments text={block.arguments} isOpen={state === "writing"} />
        <Omitted count={more.arguments} />
      </Part>
      {block.asked_arguments !== undefined && (
        <details class="nb-fold">
          <summary class="nb-quiet">What the model asked for</summary>
          <Arguments text={block.asked_arguments} isOpen={false} />
        </details>
      )}
      <Part title="Repaired" when={repaired.length > 0}>
        <p>{repaired.map((one) => oneLine(one, 200)).join("; ")}</p>
      </Part>
      <Part title="Stands for" when={references.length > 0}>
        {references.map(([name, argument]) => (
          <ReferenceCard key={name} name={name} argument={argument} glance={own(block.glances, name)} />
        ))}
      </Part>
      <Part title="Decisions" when={block.decisions.length > 0 || saysMore(block)}>
        {block.decisions.map((decided) => (
          <p>{decisionLine(decided)}</p>
        ))}
        {saysMore(block) && <p>{oneLine(block.reason, 2000)}</p>}
      </Part>
      <Part title={state === "running" ? "Output so far" : "Output"} when={progress.trim() !== ""}>
        <Scroll title="Output">
          <Grown text={visible(progress)} />
          <Omitted count={more.progress} />
        </Scroll>
      </Part>
      <Part title={shown ? "Result" : "Result, as the model saw it"} when={result.trim() !== ""}>
        <Result text={result} />
        <Omitted count={more.result} reference={reference} />
      </Part>
      <Part title="What the model saw" when={Boolean(shown?.trim())}>
        <Result text={shown ?? ""} />
        <Omitted count={more.shown} />
      </Part>
      <Part title="Traceback" when={Boolean(block.traceback)}>
        <Code text={visible(block.traceback ?? "")} language="python" open={false} />
        <Omitted count={more.traceback} />
      </Part>
      <p class="nb-quiet nb-small">{facts(block, reference)}</p>
    </>
  );
}

function facts(block: CallBlock, reference: string): string {
  const began = block.started === null ? "" : `began ${new Date(block.started * 1000).toLocaleTimeString()}`;
  const took = block.started !== null && block.seconds !== null ? `took ${seconds(block.seconds)}` : "";
  const kept = reference ? `kept as ${oneLine(reference)}` : "";
  return [`round ${block.round}`, began, took, kept].filter(Boolean).join(" · ");
}

/** The arguments as a tree; while they are being written, and where they are no JSON, as they stand. */
function Arguments({ text, isOpen }: { text: string; isOpen: boolean }): JSX.Element {
  const value = isOpen ? undefined : readJson(text);
  if (typeof value === "object" && value !== null) return <Tree value={value} />;
  return (
    <Scroll title="Arguments">
      <Grown text={visible(text)} />
    </Scroll>
  );
}

/** A result: as a tree where it is JSON, in colours where it looks like a traceback, else as it stands. */
function Result({ text }: { text: string }): JSX.Element {
  const value = /^\s*[[{]/.test(text) ? readJson(text) : undefined;
  if (typeof value === "object" && value !== null) return <Tree value={value} />;
  if (text.startsWith("Traceback (most") && highlight("", "python")) {
    return <Code text={visible(text)} language="python" open={false} />;
  }
  return (
    <div class="nb-block">
      <Copy text={() => text} />
      <Scroll title="Result">
        <Grown text={visible(text)} />
      </Scroll>
    </div>
  );
}

interface PartProps {
  title: string;
  when: boolean;
  children: ComponentChildren;
}

function Part({ title, when, children }: PartProps): JSX.Element | null {
  if (!when) return null;
  return (
    <div class="nb-part">
      <div class="nb-title nb-quiet">{title}</div>
      {children}
    </div>
  );
}

function Scroll({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-scroll" tabIndex={0} aria-label={title}>
      <pre class="nb-code nb-prewrap" dir="auto">
        {children}
      </pre>
    </section>
  );
}

/** How much is left out, and where all of it is. */
function Omitted({
  count,
  reference,
}: {
  count: number | undefined;
  reference?: string;
}): JSX.Element | null {
  if (!count) return null;
  const rest = reference ? `; all of it is kept as ${oneLine(reference)}, which %chat bind gives a name` : "";
  return (
    <p class="nb-quiet nb-cut">
      {marker(count)}
      {rest}
    </p>
  );
}

/** Whether the reason says what neither a decision nor the result says. */
function saysMore({ reason, decisions, result }: CallBlock): boolean {
  return reason !== "" && ![result, ...decisions.map((decided) => decided.reason)].includes(reason);
}

/** What a record itself holds under a name; a model may well name an argument `constructor`. */
function own<T>(record: Record<string, T> | undefined, name: string): T | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}
