import type { ComponentChildren, JSX } from "preact";
import type { CallBlock, TablePreview } from "../../protocol";
import { longArguments, nameReferences } from "../../text/argumentLines";
import {
  EDITED_LABEL,
  escapeInvisible,
  formatSeconds,
  MAX_FACTS,
  omittedMarker,
  plural,
  singleLine,
} from "../../text/format";
import { Copy } from "../../views/Copy";
import { AppendOnlyText } from "../../views/text/AppendOnlyText";
import { InlineCode } from "../../views/text/InlineCode";
import { highlight } from "../highlight";
import { Code } from "../markdown/code";
import { CellLink } from "./CellLink";
import { parseLosslessJson } from "./json";
import { ReferenceCard, TableRows, tableTitle } from "./ReferenceCard";
import { Tree } from "./Tree";

/** The details of a call: arguments, references, decisions, outcome, and what was sent to the model. */
export function CallDetails({ block }: { block: CallBlock }): JSX.Element {
  const { state, resolved, progress, result, reference, repaired, more } = block;
  const written = block.asked_arguments ?? block.arguments; // a person may have edited what runs
  const referenceArguments = Object.entries(resolved).filter(([, { references: found }]) => found.length > 0);
  return (
    <>
      <Section
        title={block.asked_arguments === undefined ? "Arguments" : `Arguments, ${EDITED_LABEL}`}
        when={!["", "{}"].includes(block.arguments.trim())}
      >
        <Arguments text={block.arguments} isOpen={state === "writing"} />
        <Omitted count={more.arguments} />
      </Section>
      {(block.asked_arguments !== undefined || nameReferences(written) !== written) && (
        <details class="nb-fold">
          <summary class="nb-muted">As the model wrote it</summary>
          <ScrollArea title="As the model wrote it">
            <AppendOnlyText text={longArguments(written)} />
          </ScrollArea>
        </details>
      )}
      <Section title="Repaired" when={repaired.length > 0}>
        <p>{repaired.map((one) => singleLine(one, 200)).join("; ")}</p>
      </Section>
      <Section title="References" when={referenceArguments.length > 0}>
        {referenceArguments.map(([name, argument]) => (
          <ReferenceCard key={name} name={name} argument={argument} glance={own(block.glances, name)} />
        ))}
      </Section>
      <Section title="Decisions" when={block.decisions.length > 0 || hasOtherReason(block)}>
        {block.decisions.map((decision) => (
          <p>
            <InlineCode text={singleLine(decision.line ?? decision.verdict, MAX_FACTS)} />
          </p>
        ))}
        {hasOtherReason(block) && (
          <p>
            <InlineCode text={singleLine(block.reason, 2000)} />
          </p>
        )}
      </Section>
      <Section title={state === "running" ? "Output so far" : "Output"} when={progress.trim() !== ""}>
        <ScrollArea title="Output">
          <AppendOnlyText text={escapeInvisible(progress)} />
          <Omitted count={more.progress} />
        </ScrollArea>
      </Section>
      {block.table ? (
        <ResultTable block={block} glance={block.table} />
      ) : (
        <Section title={`Result${partNote(block)}`} when={result.trim() !== ""}>
          <ResultText block={block} />
        </Section>
      )}
      <Section title="Traceback: only you see it" when={Boolean(block.traceback)}>
        <Code text={escapeInvisible(block.traceback ?? "")} language="python" open={false} />
        <Omitted count={more.traceback} />
      </Section>
      <CellLink block={block} />
      <p class="nb-muted nb-small">{facts(block, reference)}</p>
    </>
  );
}

function facts(block: CallBlock, reference: string): string {
  const startTime =
    block.started === null ? "" : `began ${new Date(block.started * 1000).toLocaleTimeString()}`;
  const duration =
    block.started !== null && block.seconds !== null ? `took ${formatSeconds(block.seconds)}` : "";
  const location = reference ? `kept as ${singleLine(reference)}` : "";
  return [`round ${block.round}`, startTime, duration, location].filter(Boolean).join(" · ");
}

/** The arguments as a tree; as plain text while they are streamed, or if they are not JSON. */
function Arguments({ text, isOpen }: { text: string; isOpen: boolean }): JSX.Element {
  const value = isOpen ? undefined : parseLosslessJson(text, true);
  if (typeof value === "object" && value !== null) return <Tree value={value} />;
  return (
    <ScrollArea title="Arguments">
      <AppendOnlyText text={escapeInvisible(text)} />
    </ScrollArea>
  );
}

/** A result: as a tree if it is JSON, highlighted if it looks like a traceback, else as plain text. */
function Result({ text }: { text: string }): JSX.Element {
  const value = /^\s*[[{]/.test(text) ? parseLosslessJson(text) : undefined;
  if (typeof value === "object" && value !== null) return <Tree value={value} />;
  if (text.startsWith("Traceback (most") && highlight("", "python")) {
    return <Code text={escapeInvisible(text)} language="python" open={false} />;
  }
  return (
    <div class="nb-block">
      <span class="nb-block-actions">
        <Copy text={() => text}>
          <span class="nb-icon nb-icon-copy" />
        </Copy>
      </span>
      <ScrollArea title="Result">
        <AppendOnlyText text={escapeInvisible(text)} />
      </ScrollArea>
    </div>
  );
}

/** The text of a result, and how much of it is left out. */
function ResultText({ block: { result, more, reference } }: { block: CallBlock }): JSX.Element {
  return (
    <>
      <Result text={result} />
      <Omitted count={more.result} reference={reference} />
    </>
  );
}

/** A result that is a table, which the person alone sees; the text of it is in a fold, which says how much that is. */
function ResultTable({ block, glance }: { block: CallBlock; glance: TablePreview }): JSX.Element {
  const { result } = block;
  return (
    <>
      {result.trim() && (
        <details class="nb-fold">
          <summary class="nb-muted">
            As the model saw it
            {partNote(block) || `, ${plural(result.length, "character")}`}
          </summary>
          <ResultText block={block} />
        </details>
      )}
      <Section title={tableTitle(glance)} when>
        <TableRows glance={glance} label="Result" />
      </Section>
    </>
  );
}

interface SectionProps {
  title: string;
  when: boolean;
  children: ComponentChildren;
}

function Section({ title, when, children }: SectionProps): JSX.Element | null {
  if (!when) return null;
  return (
    <div class="nb-section">
      <div class="nb-title nb-muted">{title}</div>
      {children}
    </div>
  );
}

function ScrollArea({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="nb-scroll" tabIndex={0} aria-label={title}>
      <pre class="nb-code nb-prewrap nb-bidi">{children}</pre>
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
  const rest = reference
    ? `; all of it is kept as ${singleLine(reference)}, which %chat bind gives a name`
    : "";
  return (
    <p class="nb-muted nb-truncated">
      {omittedMarker(count)}
      {rest}
    </p>
  );
}

/** What of a result is shown, where that is not all: stated beside its title, for its end may be scrolled away. */
function partNote({ result, more, whole }: CallBlock): string {
  if (whole) return `, shown in part; the whole is ${singleLine(whole, 200)}`;
  const total = result.length + (more.result ?? 0);
  return more.result
    ? `: the first ${result.length.toLocaleString("en")} of ${plural(total, "character")}`
    : "";
}

/** Whether the reason is not contained in a decision or the result. */
function hasOtherReason({ reason, decisions, result }: CallBlock): boolean {
  return reason !== "" && ![result, ...decisions.map((decision) => decision.reason)].includes(reason);
}

/** What a record itself holds under a name; a model may well name an argument `constructor`. */
function own<T>(record: Record<string, T> | undefined, name: string): T | undefined {
  return record && Object.hasOwn(record, name) ? record[name] : undefined;
}
