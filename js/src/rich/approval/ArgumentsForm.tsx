import { Component, type JSX } from "preact";
import { counted } from "../../text/format";
import { own, type Waiting } from "../../views/approval/pending";
import { type Entry, entriesOf, objectOf, stringOf } from "./argumentText";
import { ArgumentChanges } from "./Diff";
import type { Draft } from "./drafts";
import { marked, oddIn, stretches } from "./hiddenCharacters";
import { type Problems, problemsOf } from "./validate";

interface Props {
  call: Waiting;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
}

interface State {
  entries: Entry[];
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
    this.setState({ texts: begun(entries).texts });
    this.#put(entries);
  }

  #set(name: string, raw: string): void {
    this.#put(this.state.entries.map((entry) => (entry.name === name ? { name, raw } : entry)));
  }

  render(): JSX.Element {
    const { call, draft } = this.props;
    const { entries, texts } = this.state;
    const { schema, shown } = call.question;
    const properties = (schema.properties ?? {}) as Record<string, Json>;
    const missing = Object.keys(properties).filter((name) => !entries.some((entry) => entry.name === name));
    const lacking = Object.keys(draft.problems).filter((name) => missing.includes(name));
    return (
      <div class="nb-fields">
        {entries.map((entry) => (
          <Field
            key={entry.name}
            entry={entry}
            isText={texts.has(entry.name)}
            schema={own(properties, entry.name) ?? {}}
            problem={own(draft.problems, entry.name) ?? ""}
            id={`${call.question.digest.slice(0, 12)}-${entry.name}`}
            set={(raw) => this.#set(entry.name, raw)}
            leave={() => this.#put(entries.filter(({ name }) => name !== entry.name))}
          />
        ))}
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
  set: (raw: string) => void;
  leave: () => void;
}

function Field({ entry, isText, schema, problem, id, set, leave }: FieldProps): JSX.Element {
  const text = isText ? (stringOf(entry.raw) ?? "") : entry.raw; // as the field shows it: JSON may have escapes
  const hidden = oddIn(text);
  return (
    <div class="nb-field">
      <label for={id}>
        <code class="nb-name">{marked(entry.name)}</code>{" "}
        <span class="nb-quiet">{isText && !("enum" in schema) ? "text" : typeOf(schema)}</span>
      </label>
      <Control {...{ entry, isText, schema, problem, id, set }} />
      <button type="button" class="nb-plain" aria-label={`Leave out ${entry.name}`} onClick={leave}>
        Leave out
      </button>
      {problem && (
        <p class="nb-problem" id={`${id}-problem`}>
          <span aria-hidden="true">✕ </span>
          {problem}
        </p>
      )}
      {hidden > 0 && (
        <p class="nb-quiet">
          {counted(hidden, "character")} in it {hidden === 1 ? "is" : "are"} not what one sees here:{" "}
          <mark class="nb-odd">{oddOnly(text)}</mark>
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
      <select {...common} value={entry.raw} onChange={({ currentTarget }) => set(currentTarget.value)}>
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
      onInput={({ currentTarget }) => set(isText ? JSON.stringify(currentTarget.value) : currentTarget.value)}
    />
  );
}

/** What is wrong with arguments that are not there. */
function Lacking({ names, problems }: { names: string[]; problems: Problems }): JSX.Element {
  return (
    <>
      {names.map((name) => (
        <p class="nb-problem">
          <span aria-hidden="true">✕ </span>
          <code>{marked(name)}</code>: {own(problems, name)}
        </p>
      ))}
    </>
  );
}

function begun(entries: Entry[]): State {
  const texts = entries.filter(({ raw }) => stringOf(raw) !== null).map(({ name }) => name);
  return { entries, texts: new Set(texts) };
}

/** The arguments as JSON; the very text that was asked about where nothing differs. */
function settled({ question }: Waiting, entries: Entry[]): string {
  const asked = entriesOf(question.shown) ?? [];
  const same =
    asked.length === entries.length &&
    asked.every(({ name, raw }) => entries.some((entry) => entry.name === name && entry.raw === raw));
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

function oddOnly(text: string): string {
  return stretches(text)
    .filter(({ raw, shown }) => raw !== shown)
    .map(({ shown }) => shown)
    .join(" ");
}
