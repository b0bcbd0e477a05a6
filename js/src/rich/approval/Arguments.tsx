import { Component, createRef, type JSX } from "preact";
import { withoutStacks } from "../../text/combining";
import { indented } from "../../text/format";
import { own, saidArguments, type Waiting } from "../../views/approval/pending";
import { Gradual } from "../../views/Gradual";
import { highlight } from "../highlight";
import { type Entry, entriesOf, stringOf } from "./argumentText";
import { Changes } from "./Diff";
import { Marked, marked, oddIn } from "./hiddenCharacters";
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

/** Arguments that are drawn in one task. */
const MANY = 50;

interface Props {
  call: Waiting;
  /** The arguments as JSON: those asked about, or what a person put in their place. */
  text: string;
  opened: boolean;
}

/** All arguments, each as what it is: code in colours, an edit as its two sides, a reference as what it stands for. */
export function Arguments({ call, text, opened }: Props): JSX.Element {
  const entries = entriesOf(text);
  if (!entries)
    return (
      <pre class="nb-code nb-prewrap">
        <Marked text={clip(text, opened)} />
      </pre>
    );
  const edit = editIn(entries);
  const said = new Map(saidArguments(call).map((one) => [one.name, one]));
  const properties = (call.question.schema.properties ?? {}) as Record<string, unknown>;
  const rows = entries
    .filter(({ name }) => !edit?.names.includes(name))
    .map((entry) => (
      <div key={entry.name}>
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
          {said.get(entry.name)?.what && (
            <div class="nb-quiet nb-stands">
              <Marked text={standsFor(call, entry.name)} />
            </div>
          )}
        </dd>
      </div>
    ));
  return (
    <dl class="nb-arguments">
      {rows.length > MANY ? <Gradual nodes={rows} each={MANY} /> : rows}
      {edit && (
        <div>
          <dt>the edit</dt>
          <dd>
            <Changes before={clip(edit.before, opened)} after={clip(edit.after, opened)} whole />
          </dd>
        </div>
      )}
    </dl>
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
  if (text !== null && language && !oddIn(text)) return <Coloured text={shown} language={language} />;
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

/** In full what an argument stands for. */
function standsFor({ resolved }: Waiting, name: string): string {
  return (own(resolved, name) ?? "").replace(/^\$VAR_REF\{\{.*?\}\}: /, "");
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
