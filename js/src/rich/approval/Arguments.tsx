/** The arguments of a call on its card, each by its kind. */
import { Component, createRef, type JSX, type VNode } from "preact";
import { indentJson } from "../../text/argumentLines";
import { limitStacks } from "../../text/combining";
import { plural } from "../../text/format";
import { onlyReference } from "../../text/resolved";
import { ownProperty, type PendingCall } from "../../views/approval/pending";
import { Gradual } from "../../views/text/Gradual";
import { highlight } from "../highlight";
import { type ArgumentEntry, argumentEntries, toText } from "./argumentText";
import { Diff } from "./Diff";
import { hasHidden, MarkedText, markHidden } from "./hiddenCharacters";
import { detectLanguage } from "./language";

/** Characters of each argument that are shown before all of it is opened. */
const PREVIEW_CHARS = 240;

/** Lines of each argument that are shown before that. */
const PREVIEW_LINES = 8;

/** Pairs of arguments that are the two sides of an edit. */
const EDIT_PAIRS = [
  ["old", "new"],
  ["old_text", "new_text"],
  ["old_str", "new_str"],
  ["old_string", "new_string"],
] as const;

/** Arguments that are shown before all of it is opened. */
export const MAX_UNOPENED_ARGUMENTS = 20;

/** Arguments that are rendered in one task; each such group has its own box. */
const ARGUMENTS_PER_TASK = 25;

interface Props {
  call: PendingCall;
  /** The arguments as JSON: the model's, or those that a person entered. */
  text: string;
  opened: boolean;
}

/** All arguments, each by its kind: code highlighted, an edit as a diff, a reference by its target. */
export class Arguments extends Component<Props> {
  override shouldComponentUpdate({ call, text, opened }: Props): boolean {
    const { props } = this;
    const isSame = call.question === props.call.question && call.resolved === props.call.resolved;
    return !isSame || text !== props.text || opened !== props.opened;
  }

  render(): JSX.Element {
    return renderArguments(this.props);
  }
}

function renderArguments({ call, text, opened }: Props): JSX.Element {
  const entries = argumentEntries(text);
  if (!entries)
    return (
      <pre class="nb-code nb-prewrap">
        <MarkedText text={truncate(text, opened)} />
      </pre>
    );
  const edit = findEdit(entries);
  const rows = entries.filter(({ name }) => !edit?.names.includes(name));
  const shown = opened ? rows : rows.slice(0, MAX_UNOPENED_ARGUMENTS);
  const omitted = rows.length - shown.length;
  return (
    <dl class="nb-arguments">
      {shown.length > ARGUMENTS_PER_TASK ? (
        <Gradual nodes={argumentGroups(call, shown, entries, opened)} each={1} />
      ) : (
        <ArgumentRows call={call} rows={shown} entries={entries} opened={opened} />
      )}
      {omitted > 0 && <div class="nb-muted">… {plural(omitted, "argument")} more</div>}
      {edit && (
        <div class="nb-argument">
          <dt>edit</dt>
          <dd>
            <Diff before={truncate(edit.before, opened)} after={truncate(edit.after, opened)} whole />
          </dd>
        </div>
      )}
    </dl>
  );
}

interface ArgumentRowsProps {
  call: PendingCall;
  rows: ArgumentEntry[];
  entries: ArgumentEntry[];
  opened: boolean;
}

function* argumentGroups(
  call: PendingCall,
  rows: ArgumentEntry[],
  entries: ArgumentEntry[],
  opened: boolean,
): Generator<VNode> {
  for (let at = 0; at < rows.length; at += ARGUMENTS_PER_TASK)
    yield (
      <span key={at} class="nb-argument-group">
        <ArgumentRows
          call={call}
          rows={rows.slice(at, at + ARGUMENTS_PER_TASK)}
          entries={entries}
          opened={opened}
        />
      </span>
    );
}

/** A component, so that its rows are created when it is rendered. */
function ArgumentRows({ call, rows, entries, opened }: ArgumentRowsProps): JSX.Element {
  const properties = (call.question.schema.properties ?? {}) as Record<string, unknown>;
  return (
    <>
      {rows.map((entry) => (
        <div key={entry.name} class="nb-argument">
          <dt>
            <code class="nb-prewrap">
              <MarkedText text={entry.name} />
            </code>
          </dt>
          <dd>
            <ArgumentValue
              call={call}
              entry={entry}
              language={detectLanguage(entry, ownProperty(properties, entry.name), entries)}
              opened={opened}
            />
          </dd>
        </div>
      ))}
    </>
  );
}

interface ValueProps {
  entry: ArgumentEntry;
  language: string;
  opened: boolean;
}

/** A value; a reference as people write it, with what it is. */
function ArgumentValue({ call, ...props }: ValueProps & { call: PendingCall }): JSX.Element {
  const argument = ownProperty(call.resolved, props.entry.name);
  const reference = argument && onlyReference(argument);
  if (!reference) return <Value {...props} />;
  return (
    <>
      <code class="nb-prewrap">
        <MarkedText text={reference.name} />
      </code>
      <div class="nb-muted nb-reference-note">
        <MarkedText text={reference.text} />
      </div>
    </>
  );
}

function Value({ entry, language, opened }: ValueProps): JSX.Element {
  const text = toText(entry.raw);
  const shown = truncate(text ?? indentJson(entry.raw), opened);
  if (text !== null && language && !hasHidden(text))
    return <HighlightedCode text={shown} language={language} />;
  if (shown.includes("\n") || shown.length >= 80)
    return (
      <pre class="nb-code nb-prewrap">
        <MarkedText text={shown} />
      </pre>
    );
  const quote = text === null ? "" : '"';
  return (
    <code class="nb-prewrap">
      {quote}
      {markHidden(shown)}
      {quote}
    </code>
  );
}

/** Code in the colours of its language; the same characters in the same order. */
class HighlightedCode extends Component<{ text: string; language: string }> {
  #code = createRef<HTMLElement>();
  #nodes: Node | null = null;

  override componentDidMount(): void {
    this.#insertNodes();
  }

  override componentDidUpdate(): void {
    this.#insertNodes();
  }

  override shouldComponentUpdate({ text, language }: { text: string; language: string }): boolean {
    return text !== this.props.text || language !== this.props.language;
  }

  #insertNodes(): void {
    if (this.#nodes) this.#code.current?.replaceChildren(this.#nodes);
  }

  render(): JSX.Element {
    const { text, language } = this.props;
    this.#nodes = limitStacks(text) === text ? highlight(text, language) : null;
    return (
      <pre class="nb-code nb-prewrap">
        {this.#nodes ? (
          <code key="coloured" ref={this.#code} />
        ) : (
          <code key="plain">
            <MarkedText text={text} />
          </code>
        )}
      </pre>
    );
  }
}

function findEdit(
  entries: ArgumentEntry[],
): { names: readonly string[]; before: string; after: string } | null {
  for (const names of EDIT_PAIRS) {
    const [before, after] = names.map((name) =>
      toText(entries.find((entry) => entry.name === name)?.raw ?? ""),
    );
    if (typeof before === "string" && typeof after === "string") return { names, before, after };
  }
  return null;
}

function truncate(text: string, opened: boolean): string {
  if (opened) return text;
  const excerpt = text.split("\n", PREVIEW_LINES).join("\n").slice(0, PREVIEW_CHARS);
  return excerpt.length < text.length ? `${excerpt}…` : text;
}
