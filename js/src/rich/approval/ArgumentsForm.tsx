import { Component, type JSX } from "preact";
import { counted } from "../../text/format";
import { own, type Waiting } from "../../views/approval/pending";
import { type Entry, entriesOf, objectOf, stringOf } from "./argumentText";
import { ArgumentChanges } from "./Diff";
import type { Draft } from "./drafts";
import { marked, stretches } from "./hiddenCharacters";
import { type Problems, problemsOf } from "./validate";

interface Props {
  call: Waiting;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
}

/** Fields that are drawn at first, and with each wish for more; one with a problem is drawn wherever it is. */
const STEP = 50;

/** Odd characters of a field that are named; of more, it is said how many. */
const MAX_ODD = 50;

/** Arguments that are said to be lacking; of more, it is said how many. */
const MAX_LACKING = 20;

interface State {
  entries: Entry[];
  /** How many of the fields are drawn, beside those that a person added. */
  limit: number;
  added: ReadonlySet<string>;
  /** Arguments that are texts, and are typed as such; all others are typed as JSON. */
  texts: Set<string>;
}

type Json = Record<string, unknown>;

/** Arguments in fields of their own, each with what is wrong with it beside it, and what was changed below. */
export class Fields extends Component<Props, State> {
  override state: State = begun(entriesOf(this.props.draft.text ?? this.props.call.question.shown) ?? []);

  #put(entries: Entry[]): void {
    const { call, change } = this.props;
    const problems = problemsOf(call.question.schema, entries);
    this.setState({ entries });
    const isJson = entriesOf(objectOf(entries)) !== null;
    change({
      problems,
      text: isJson ? settled(call, entries) : (this.props.draft.text ?? call.question.shown),
    });
  }

  #add(name: string, schema: Json): void {
    const entries = [...this.state.entries, { name, raw: firstValue(schema) }];
    this.setState({ texts: begun(entries).texts, added: new Set(this.state.added).add(name) });
    this.#put(entries);
  }

  #set = (name: string, raw: string): void => {
    this.#put(this.state.entries.map((entry) => (entry.name === name ? { name, raw } : entry)));
  };

  #leave = (name: string): void => {
    this.#put(this.state.entries.filter((entry) => entry.name !== name));
  };

  render(): JSX.Element {
    const { call, draft } = this.props;
    const { entries, texts, limit, added } = this.state;
    const { schema, shown } = call.question;
    const properties = (schema.properties ?? {}) as Record<string, Json>;
    const names = new Set(entries.map(({ name }) => name));
    const missing = Object.keys(properties).filter((name) => !names.has(name));
    const lacking = Object.keys(draft.problems).filter((name) => !names.has(name));
    const drawn = fieldsOf(entries, draft.problems, limit, added);
    const left = entries.length - drawn.length;
    return (
      <div class="nb-fields">
        {drawn.map((entry) => (
          <Field
            key={entry.name}
            entry={entry}
            isText={texts.has(entry.name)}
            schema={own(properties, entry.name) ?? {}}
            problem={own(draft.problems, entry.name) ?? ""}
            id={`${call.question.digest.slice(0, 12)}-${entry.name}`}
            set={this.#set}
            leave={this.#leave}
          />
        ))}
        {left > 0 && (
          <button type="button" class="nb-plain" onClick={() => this.setState({ limit: limit + STEP })}>
            Show {Math.min(STEP, left)} of the other {counted(left, "argument")}
          </button>
        )}
        {missing.length > 0 && (
          <select
            aria-label="Add an argument"
            value=""
            onChange={({ currentTarget: { value } }) =>
              value && this.#add(value, own(properties, value) ?? {})
            }
          >
            <option value="">Add an argument …</option>
            {missing.map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        )}
        <Lacking names={lacking} problems={draft.problems} />
        {draft.text !== null && <ArgumentChanges before={shown} after={draft.text} />}
      </div>
    );
  }
}

interface FieldProps {
  entry: Entry;
  isText: boolean;
  schema: Json;
  problem: string;
  id: string;
  set: (name: string, raw: string) => void;
  leave: (name: string) => void;
}

/** One of many fields: only that which changes is drawn again. */
class Field extends Component<FieldProps> {
  override shouldComponentUpdate({ entry, isText, problem }: FieldProps): boolean {
    const { props } = this;
    return entry.raw !== props.entry.raw || isText !== props.isText || problem !== props.problem;
  }

  render(): JSX.Element {
    return fieldOf(this.props);
  }
}

function fieldOf({ entry, isText, schema, problem, id, set, leave }: FieldProps): JSX.Element {
  const text = isText ? (stringOf(entry.raw) ?? "") : entry.raw; // as the field shows it: JSON may have escapes
  const hidden = oddOf(text);
  return (
    <div class="nb-field">
      <label for={id}>
        <code class="nb-name">{marked(entry.name)}</code>{" "}
        <span class="nb-quiet">{isText && !("enum" in schema) ? "text" : typeOf(schema)}</span>
      </label>
      <Control {...{ entry, isText, schema, problem, id, set }} />
      <button
        type="button"
        class="nb-plain"
        aria-label={`Leave out ${entry.name}`}
        onClick={() => leave(entry.name)}
      >
        Leave out
      </button>
      {problem && (
        <p class="nb-problem" id={`${id}-problem`}>
          <span aria-hidden="true">✕ </span>
          {problem}
        </p>
      )}
      {hidden.length > 0 && (
        <p class="nb-quiet">
          {counted(hidden.length, "character")} in it {hidden.length === 1 ? "is" : "are"} not what one sees
          here: <mark class="nb-odd">{hidden.slice(0, MAX_ODD).join(" ")}</mark>
          {hidden.length > MAX_ODD && ` and ${counted(hidden.length - MAX_ODD, "character")} more`}
        </p>
      )}
    </div>
  );
}

function Control({ entry, isText, schema, problem, id, set }: Omit<FieldProps, "leave">): JSX.Element {
  const choices = choicesOf(schema);
  const common = {
    id,
    class: "nb-code",
    spellcheck: false,
    "aria-invalid": problem !== "",
    ...(problem && { "aria-describedby": `${id}-problem` }),
  };
  if (choices) {
    const all = choices.includes(entry.raw) ? choices : [entry.raw, ...choices];
    return (
      <select
        {...common}
        value={entry.raw}
        onChange={({ currentTarget }) => set(entry.name, currentTarget.value)}
      >
        {all.map((raw) => (
          <option value={raw}>{stringOf(raw) ?? raw}</option>
        ))}
      </select>
    );
  }
  const value = isText ? (stringOf(entry.raw) ?? "") : entry.raw;
  return (
    <textarea
      {...common}
      rows={Math.min(12, value.split("\n").length)}
      value={value}
      onInput={({ currentTarget }) =>
        set(entry.name, isText ? JSON.stringify(currentTarget.value) : currentTarget.value)
      }
    />
  );
}

/** What is wrong with arguments that are not there. */
function Lacking({ names, problems }: { names: string[]; problems: Problems }): JSX.Element {
  return (
    <>
      {names.slice(0, MAX_LACKING).map((name) => (
        <p class="nb-problem">
          <span aria-hidden="true">✕ </span>
          <code>{marked(name)}</code>: {own(problems, name)}
        </p>
      ))}
      {names.length > MAX_LACKING && (
        <p class="nb-problem">… {counted(names.length - MAX_LACKING, "argument")} more</p>
      )}
    </>
  );
}

/** The first arguments, those that were added, and as many of those with a problem as are drawn at first. */
function fieldsOf(entries: Entry[], problems: Problems, limit: number, added: ReadonlySet<string>): Entry[] {
  let left = STEP;
  return entries.filter(
    ({ name }, at) => at < limit || added.has(name) || (Object.hasOwn(problems, name) && left-- > 0),
  );
}

function begun(entries: Entry[]): State {
  const texts = entries.filter(({ raw }) => stringOf(raw) !== null).map(({ name }) => name);
  return { entries, texts: new Set(texts), limit: STEP, added: new Set() };
}

/** The arguments as JSON; the very text that was asked about where nothing differs. */
function settled({ question }: Waiting, entries: Entry[]): string {
  const asked = entriesOf(question.shown) ?? [];
  const now = new Map(entries.map(({ name, raw }) => [name, raw]));
  const same = asked.length === entries.length && asked.every(({ name, raw }) => now.get(name) === raw);
  return same ? question.shown : objectOf(entries);
}

function choicesOf({ enum: choices, type }: Json): string[] | null {
  if (Array.isArray(choices) && choices.length) return choices.map((choice) => JSON.stringify(choice));
  return type === "boolean" ? ["true", "false"] : null;
}

function typeOf({ type, enum: choices, anyOf }: Json): string {
  if (Array.isArray(choices)) return "one of a list";
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one as Json)).join(" or ");
  return typeof type === "string" ? type : "JSON";
}

function firstValue({ default: value, type }: Json): string {
  if (value !== undefined) return JSON.stringify(value);
  return type === "string" ? '""' : type === "boolean" ? "false" : "null";
}

/** The odd characters of a text, each as its escape. */
function oddOf(text: string): string[] {
  return [...stretches(text)].filter(({ raw, shown }) => raw !== shown).map(({ shown }) => shown);
}
