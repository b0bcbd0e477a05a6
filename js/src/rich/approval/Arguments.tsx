import { Component, createRef, type JSX, type VNode } from "preact";
import { withoutStacks } from "../../text/combining";
import { counted, indented } from "../../text/format";
import { onlyReference } from "../../text/resolved";
import { own, type Waiting } from "../../views/approval/pending";
import { Gradual } from "../../views/Gradual";
import { highlight } from "../highlight";
import { type Entry, entriesOf, stringOf } from "./argumentText";
import { Changes } from "./Diff";
import { isOdd, Marked, marked } from "./hiddenCharacters";
import { languageOf } from "./language";

/** Characters of each argument that are shown before all of it is opened. */
const CLIP = 240;

/** Lines of each argument that are shown before that. */
const CLIP_LINES = 8;

/** Pairs of arguments that are the two sides of an edit. */
const EDITS = [
  ["old", "new"],
  ["old_text", "new_text"],
  ["old_str", "new_str"],
  ["old_string", "new_string"],
] as const;

/** Arguments that are shown before all of it is opened. */
export const FIRST = 20;

/** Arguments that are drawn in one task; each such group lies in a box of its own. */
const GROUP = 25;

interface Props {
  call: Waiting;
  /** The arguments as JSON: those asked about, or what a person put in their place. */
  text: string;
  opened: boolean;
}

/** All arguments, each as what it is: code in colours, an edit as its two sides, a reference as what it stands for. */
export class Arguments extends Component<Props> {
  override shouldComponentUpdate({ call, text, opened }: Props): boolean {
    const { props } = this;
    const isSame = call.question === props.call.question && call.resolved === props.call.resolved;
    return !isSame || text !== props.text || opened !== props.opened;
  }

  render(): JSX.Element {
    return argumentsOf(this.props);
  }
}

function argumentsOf({ call, text, opened }: Props): JSX.Element {
  const entries = entriesOf(text);
  if (!entries)
    return (
      <pre class="nb-code nb-prewrap">
        <Marked text={clip(text, opened)} />
      </pre>
    );
  const edit = editIn(entries);
  const rows = entries.filter(({ name }) => !edit?.names.includes(name));
  const shown = opened ? rows : rows.slice(0, FIRST);
  const left = rows.length - shown.length;
  return (
    <dl class="nb-arguments">
      {shown.length > GROUP ? (
        <Gradual nodes={groupsOf(call, shown, entries, opened)} each={1} />
      ) : (
        <Rows call={call} rows={shown} entries={entries} opened={opened} />
      )}
      {left > 0 && <div class="nb-quiet">… {counted(left, "argument")} more</div>}
      {edit && (
        <div class="nb-argument">
          <dt>the edit</dt>
          <dd>
            <Changes before={clip(edit.before, opened)} after={clip(edit.after, opened)} whole />
          </dd>
        </div>
      )}
    </dl>
  );
}

interface RowsProps {
  call: Waiting;
  rows: Entry[];
  entries: Entry[];
  opened: boolean;
}

function* groupsOf(call: Waiting, rows: Entry[], entries: Entry[], opened: boolean): Generator<VNode> {
  for (let at = 0; at < rows.length; at += GROUP)
    yield (
      <span key={at} class="nb-argument-group">
        <Rows call={call} rows={rows.slice(at, at + GROUP)} entries={entries} opened={opened} />
      </span>
    );
}

/** A component, so that its rows are made when it is drawn. */
function Rows({ call, rows, entries, opened }: RowsProps): JSX.Element {
  const properties = (call.question.schema.properties ?? {}) as Record<string, unknown>;
  return (
    <>
      {rows.map((entry) => (
        <div key={entry.name} class="nb-argument">
          <dt>
            <code class="nb-prewrap">
              <Marked text={entry.name} />
            </code>
          </dt>
          <dd>
            <Value
              entry={entry}
              language={languageOf(entry, own(properties, entry.name), entries)}
              opened={opened}
            />
            <StandsFor text={standsFor(call, entry.name)} />
          </dd>
        </div>
      ))}
    </>
  );
}

function StandsFor({ text }: { text: string }): JSX.Element | null {
  if (!text) return null;
  return (
    <div class="nb-quiet nb-stands">
      <Marked text={text} />
    </div>
  );
}

function Value({
  entry,
  language,
  opened,
}: {
  entry: Entry;
  language: string;
  opened: boolean;
}): JSX.Element {
  const text = stringOf(entry.raw);
  const shown = clip(text ?? indented(entry.raw), opened);
  if (text !== null && language && !isOdd(text)) return <Coloured text={shown} language={language} />;
  if (shown.includes("\n") || shown.length >= 80)
    return (
      <pre class="nb-code nb-prewrap">
        <Marked text={shown} />
      </pre>
    );
  const quote = text === null ? "" : '"';
  return (
    <code class="nb-prewrap">
      {quote}
      {marked(shown)}
      {quote}
    </code>
  );
}

/** Code in the colours of its language; the same characters in the same order. */
class Coloured extends Component<{ text: string; language: string }> {
  #code = createRef<HTMLElement>();
  #nodes: Node | null = null;

  override componentDidMount(): void {
    this.#colour();
  }

  override componentDidUpdate(): void {
    this.#colour();
  }

  override shouldComponentUpdate({ text, language }: { text: string; language: string }): boolean {
    return text !== this.props.text || language !== this.props.language;
  }

  #colour(): void {
    if (this.#nodes) this.#code.current?.replaceChildren(this.#nodes);
  }

  render(): JSX.Element {
    const { text, language } = this.props;
    this.#nodes = withoutStacks(text) === text ? highlight(text, language) : null;
    return (
      <pre class="nb-code nb-prewrap">
        {this.#nodes ? (
          <code key="coloured" ref={this.#code} />
        ) : (
          <code key="plain">
            <Marked text={text} />
          </code>
        )}
      </pre>
    );
  }
}

/** In full what an argument stands for; empty where it is no reference. */
function standsFor({ resolved }: Waiting, name: string): string {
  const argument = own(resolved, name);
  return (argument && onlyReference(argument)?.text) ?? "";
}

function editIn(entries: Entry[]): { names: readonly string[]; before: string; after: string } | null {
  for (const names of EDITS) {
    const [before, after] = names.map((name) =>
      stringOf(entries.find((entry) => entry.name === name)?.raw ?? ""),
    );
    if (typeof before === "string" && typeof after === "string") return { names, before, after };
  }
  return null;
}

function clip(text: string, opened: boolean): string {
  if (opened) return text;
  const some = text.split("\n", CLIP_LINES).join("\n").slice(0, CLIP);
  return some.length < text.length ? `${some}…` : text;
}
