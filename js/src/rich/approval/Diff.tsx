import { diffLines } from "diff";
import { Component, type JSX, type VNode } from "preact";
import { indented } from "../../text/format";
import { Gradual } from "../../views/Gradual";
import { entriesOf, stringOf } from "./argumentText";
import { Marked, marked } from "./hiddenCharacters";

/** Lines of what did not change that are shown around a change. */
const AROUND = 2;

/** Steps after which two texts count as wholly different: what is that far apart is no edit. */
const MAX_STEPS = 800;

/** Milliseconds that a comparison may take. */
const MAX_TIME = 100;

type Sign = "+" | "−" | " " | "…";
type Line = readonly [sign: Sign, text: string];

interface ChangesProps {
  before: string;
  after: string;
  whole?: boolean;
}

/** Two texts, line by line: what goes with a minus, what comes with a plus; `whole` with every line that stays. */
export class Changes extends Component<ChangesProps> {
  override shouldComponentUpdate({ before, after, whole }: ChangesProps): boolean {
    const { props } = this;
    return before !== props.before || after !== props.after || whole !== props.whole;
  }

  render(): JSX.Element {
    const { before, after, whole = false } = this.props;
    return (
      <div class="nb-code nb-changes">
        <Lines lines={linesOf(before, after, whole)} />
      </div>
    );
  }
}

/** Lines in groups of so many, each drawn in a task of its own. */
const GROUP = 100;

/** Lines of a comparison; many are drawn group by group. */
function Lines({ lines }: { lines: Line[] }): JSX.Element {
  if (lines.length <= GROUP) return <Group lines={lines} />;
  return <Gradual nodes={groupsOf(lines)} each={1} />;
}

function* groupsOf(lines: Line[]): Generator<VNode> {
  for (let at = 0; at < lines.length; at += GROUP)
    yield (
      <div key={at}>
        <Group lines={lines.slice(at, at + GROUP)} />
      </div>
    );
}

/** A component, so that its lines are made when it is drawn. */
function Group({ lines }: { lines: Line[] }): JSX.Element {
  return (
    <>
      {lines.map(([sign, text]) => (
        <Changed sign={sign} text={text} />
      ))}
    </>
  );
}

function Changed({ sign, text }: { sign: Sign; text: string }): JSX.Element {
  return (
    <div class={CLASSES[sign]}>
      <span class="nb-change-sign" role="img" aria-label={WORDS[sign]}>
        {sign}
      </span>
      <span class="nb-prewrap">
        <Marked text={text} />
      </span>
    </div>
  );
}

/** How edited arguments differ from those that the model asked for, argument by argument. */
export function ArgumentChanges({ before, after }: { before: string; after: string }): JSX.Element | null {
  const old = new Map(entriesOf(before)?.map(({ name, raw }) => [name, raw]));
  const now = new Map(entriesOf(after)?.map(({ name, raw }) => [name, raw]));
  const names = [...new Set([...old.keys(), ...now.keys()])];
  const changed = names.filter((name) => old.get(name) !== now.get(name));
  if (!changed.length) return null;
  return (
    <section aria-label="Changes" class="nb-diff">
      <div class="nb-title nb-quiet">Changed from what the model asked for</div>
      {changed.map((name) => (
        <>
          <code class="nb-name">{marked(name)}</code>
          <Changes before={written(old.get(name))} after={written(now.get(name))} />
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
    return effectOf(this.props.text);
  }
}

function effectOf(text: string): JSX.Element {
  const lines = text.trimEnd().split("\n");
  const head = lines.findIndex((line, at) => line.startsWith("--- ") && lines[at + 1]?.startsWith("+++ "));
  if (head < 0)
    return (
      <pre class="nb-code nb-prewrap">
        <Marked text={text} />
      </pre>
    );
  return (
    <>
      {head > 0 && (
        <div class="nb-prewrap">
          <Marked text={lines.slice(0, head).join("\n")} />
        </div>
      )}
      <div class="nb-code nb-changes">
        <Lines
          lines={lines.slice(head + 2).map((line): Line => {
            const sign = line.startsWith("@@") ? "…" : (SIGNS[line[0] ?? ""] ?? " ");
            return [sign, sign === "…" ? line : line.slice(1)];
          })}
        />
      </div>
    </>
  );
}

function written(raw: string | undefined): string {
  return raw === undefined ? "" : (stringOf(raw) ?? indented(raw));
}

function linesOf(before: string, after: string, whole: boolean): Line[] {
  const gone = { value: before, added: false, removed: true };
  const found = diffLines(before, after, { maxEditLength: MAX_STEPS, timeout: MAX_TIME });
  const parts = found ?? [gone, { value: after, added: true, removed: false }];
  const said: Line[] = found ? [] : [["…", "too different to compare: all of the old text, then the new"]];
  return said.concat(
    parts.flatMap(({ value, added, removed }, at): Line[] => {
      const lines = value.replace(/\n$/, "").split("\n");
      if (value === "") return [];
      if (added || removed) return lines.map((line) => [added ? "+" : "−", line] as const);
      const head = at > 0 ? AROUND : 0;
      const tail = at < parts.length - 1 ? AROUND : 0;
      if (whole || lines.length <= head + tail + 1) return lines.map((line) => [" ", line] as const);
      const skipped: Line = ["…", `${lines.length - head - tail} lines that stay`];
      const same = (some: string[]): Line[] => some.map((line) => [" ", line] as const);
      return [...same(lines.slice(0, head)), skipped, ...same(lines.slice(lines.length - tail))];
    }),
  );
}

const SIGNS: Record<string, Sign> = { "+": "+", "-": "−" };
const WORDS = { "+": "comes", "−": "goes", " ": "stays", "…": "left out" };
const CLASSES = { "+": "nb-comes", "−": "nb-goes", " ": "nb-stays", "…": "nb-quiet" };
