/** Line diffs on the card: of an edit, of changed arguments, of an effect. */
import { diffLines } from "diff";
import { Component, type JSX, type VNode } from "preact";
import { indentJson } from "../../text/argumentLines";
import { plural } from "../../text/format";
import { Gradual } from "../../views/text/Gradual";
import { argumentEntries, toText } from "./argumentText";
import { MarkedText, markHidden } from "./hiddenCharacters";

/** Lines of what did not change that are shown around a change. */
const CONTEXT_LINES = 2;

/** Steps after which two texts count as wholly different: what is that far apart is no edit. */
const MAX_EDIT_LENGTH = 800;

/** Time limit of a comparison, in milliseconds. */
const TIMEOUT_MS = 100;

type Sign = "+" | "−" | " " | "…";
type Line = readonly [sign: Sign, text: string];

interface DiffProps {
  before: string;
  after: string;
  whole?: boolean;
}

/** The line diff of two texts: removed lines with a minus, added ones with a plus; `whole` includes all unchanged lines. */
export class Diff extends Component<DiffProps> {
  override shouldComponentUpdate({ before, after, whole }: DiffProps): boolean {
    const { props } = this;
    return before !== props.before || after !== props.after || whole !== props.whole;
  }

  render(): JSX.Element {
    const { before, after, whole = false } = this.props;
    return (
      <div class="nb-code nb-changes">
        <DiffLines lines={diffRows(before, after, whole)} />
      </div>
    );
  }
}

/** Lines of one group, which is rendered in one task. */
const LINES_PER_TASK = 100;

/** Lines that are each rendered with their sign; more are one plain text, because each takes several elements. */
export const MAX_SIGNED_LINES = 10_000;

/** Lines of a comparison; many are rendered in groups. */
function DiffLines({ lines }: { lines: Line[] }): JSX.Element {
  if (lines.length <= LINES_PER_TASK) return <DiffLineGroup lines={lines} />;
  if (lines.length > MAX_SIGNED_LINES)
    return (
      <>
        <p class="nb-muted">{plural(lines.length, "line")}: shown as plain text.</p>
        <pre class="nb-prewrap">
          <MarkedText text={lines.map(([sign, text]) => sign + text).join("\n")} />
        </pre>
      </>
    );
  return <Gradual nodes={lineGroups(lines)} each={1} />;
}

function* lineGroups(lines: Line[]): Generator<VNode> {
  for (let at = 0; at < lines.length; at += LINES_PER_TASK)
    yield (
      <div key={at}>
        <DiffLineGroup lines={lines.slice(at, at + LINES_PER_TASK)} />
      </div>
    );
}

/** A component, so that its lines are created when it is rendered. */
function DiffLineGroup({ lines }: { lines: Line[] }): JSX.Element {
  return (
    <>
      {lines.map(([sign, text]) => (
        <DiffLine sign={sign} text={text} />
      ))}
    </>
  );
}

function DiffLine({ sign, text }: { sign: Sign; text: string }): JSX.Element {
  return (
    <div class={SIGN_CLASSES[sign]}>
      <span class="nb-change-sign" role="img" aria-label={SIGN_LABELS[sign]}>
        {sign}
      </span>
      <span class="nb-prewrap">
        <MarkedText text={text} />
      </span>
    </div>
  );
}

/** The difference between edited arguments and the model's, by argument. */
export function ArgumentChanges({ before, after }: { before: string; after: string }): JSX.Element | null {
  const previous = new Map(argumentEntries(before)?.map(({ name, raw }) => [name, raw]));
  const current = new Map(argumentEntries(after)?.map(({ name, raw }) => [name, raw]));
  const names = [...new Set([...previous.keys(), ...current.keys()])];
  const changed = names.filter((name) => previous.get(name) !== current.get(name));
  if (!changed.length) return null;
  return (
    <section aria-label="Changes" class="nb-diff">
      <div class="nb-title nb-muted">Changes to the model's arguments</div>
      {changed.map((name) => (
        <>
          <code class="nb-name">{markHidden(name)}</code>
          <Diff before={readableValue(previous.get(name))} after={readableValue(current.get(name))} />
        </>
      ))}
    </section>
  );
}

/** A text that may end in a unified diff: what a call will change, or how its tool changed. */
export class Effect extends Component<{ text: string }> {
  override shouldComponentUpdate({ text }: { text: string }): boolean {
    return text !== this.props.text;
  }

  render(): JSX.Element {
    return renderEffect(this.props.text);
  }
}

function renderEffect(text: string): JSX.Element {
  const lines = text.trimEnd().split("\n");
  const head = lines.findIndex((line, at) => line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  if (head < 0)
    return (
      <pre class="nb-code nb-prewrap">
        <MarkedText text={text} />
      </pre>
    );
  return (
    <>
      {head > 0 && (
        <div class="nb-prewrap">
          <MarkedText text={lines.slice(0, head).join("\n")} />
        </div>
      )}
      <div class="nb-code nb-changes">
        <DiffLines
          lines={lines.slice(head + 2).map((line): Line => {
            const sign = line.startsWith("@@") ? "…" : (SIGNS[line[0] ?? ""] ?? " ");
            return [sign, sign === "…" ? line : line.slice(1)];
          })}
        />
      </div>
    </>
  );
}

function readableValue(raw: string | undefined): string {
  return raw === undefined ? "" : (toText(raw) ?? indentJson(raw));
}

function diffRows(before: string, after: string, whole: boolean): Line[] {
  const removedText = { value: before, added: false, removed: true };
  const compared = diffLines(before, after, { maxEditLength: MAX_EDIT_LENGTH, timeout: TIMEOUT_MS });
  const parts = compared ?? [removedText, { value: after, added: true, removed: false }];
  const notes: Line[] = compared
    ? []
    : [["…", "too different to compare: all of the old text, then the new"]];
  return notes.concat(
    parts.flatMap(({ value, added, removed }, at): Line[] => {
      const lines = value.replace(/\n$/, "").split("\n");
      if (value === "") return [];
      if (added || removed) return lines.map((line) => [added ? "+" : "−", line] as const);
      const head = at > 0 ? CONTEXT_LINES : 0;
      const tail = at < parts.length - 1 ? CONTEXT_LINES : 0;
      if (whole || lines.length <= head + tail + 1) return lines.map((line) => [" ", line] as const);
      const omitted: Line = ["…", `${lines.length - head - tail} unchanged lines`];
      const unchanged = (some: string[]): Line[] => some.map((line) => [" ", line] as const);
      return [...unchanged(lines.slice(0, head)), omitted, ...unchanged(lines.slice(lines.length - tail))];
    }),
  );
}

const SIGNS: Record<string, Sign> = { "+": "+", "-": "−" };
const SIGN_LABELS = { "+": "added", "−": "removed", " ": "unchanged", "…": "omitted" };
const SIGN_CLASSES = { "+": "nb-added", "−": "nb-removed", " ": "nb-unchanged", "…": "nb-muted" };
