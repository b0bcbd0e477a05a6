import { Component, type JSX } from "preact";
import { plural, singleLine } from "../../text/format";
import { ownProperty, type PendingCall } from "../../views/approval/pending";
import { type ArgumentEntry, argumentEntries, toObject, toText } from "./argumentText";
import { ArgumentChanges } from "./Diff";
import { type Draft, MAX_FIELD_CHARS, tooLongToEdit } from "./drafts";
import { hiddenRanges, markHidden } from "./hiddenCharacters";
import { type ArgumentErrors, REFERENCE_TYPE, typeWord, validateArguments } from "./validate";

interface Props {
  call: PendingCall;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
}

/** Fields that are rendered at first, and with each click on more; one with a problem is always rendered. */
const FIELDS_PER_STEP = 50;

/** Maximum unusual characters of a field that are listed; further ones are counted. */
const MAX_LISTED_ESCAPES = 50;

/** Maximum missing arguments that are listed; further ones are counted. */
const MAX_LISTED_MISSING = 20;

/** Choices of a field of a form that are buttons; more are a list. */
const MAX_RADIO_BUTTONS = 20;

/** The key of a problem of a form that is of no field: no field has an empty name. */
const WHOLE_FORM = "";

interface State {
  entries: ArgumentEntry[];
  /** How many fields are rendered, besides those that a person added. */
  limit: number;
  added: ReadonlySet<string>;
  /** Arguments that are texts, and are typed as such; all others are typed as JSON. */
  texts: Set<string>;
}

type Json = Record<string, unknown>;

/** Arguments in fields of their own, each with what is wrong with it beside it, and what was changed below. */
export class ArgumentsForm extends Component<Props, State> {
  override state: State = initialState(
    argumentEntries(this.props.draft.text ?? this.props.call.question.shown) ?? [],
  );

  /** A form of a server is incomplete at first. */
  override componentDidMount(): void {
    const { call, draft } = this.props;
    if (call.question.is_form && draft.text === null) this.#update(this.state.entries);
  }

  #update(entries: ArgumentEntry[]): void {
    const { call, change } = this.props;
    const { is_form, schema } = call.question;
    const problems = is_form ? formProblems(schema, entries) : validateArguments(schema, entries);
    this.setState({ entries });
    const isJson = argumentEntries(toObject(entries)) !== null;
    change({
      problems,
      text: isJson ? argumentsJson(call, entries) : (this.props.draft.text ?? call.question.shown),
    });
  }

  #add(name: string, schema: Json): void {
    const entries = [...this.state.entries, { name, raw: firstValue(schema) }];
    this.setState({ texts: initialState(entries).texts, added: new Set(this.state.added).add(name) });
    this.#update(entries);
  }

  #set = (name: string, raw: string): void => {
    const { entries } = this.state;
    const { is_form, schema } = this.props.call.question;
    this.#update(
      is_form
        ? fillIn(schema, entries, name, raw)
        : entries.map((entry) => (entry.name === name ? { name, raw } : entry)),
    );
  };

  #remove = (name: string): void => {
    this.#update(this.state.entries.filter((entry) => entry.name !== name));
  };

  render(): JSX.Element {
    const { call, draft } = this.props;
    const { entries, texts, limit, added } = this.state;
    const { is_form, schema, shown } = call.question;
    const properties = propertiesOf(schema);
    const fields = is_form ? formFields(schema, entries) : entries;
    const names = new Set(fields.map(({ name }) => name));
    const addable = Object.keys(properties).filter((name) => !names.has(name));
    const missingRequired = Object.keys(draft.problems).filter((name) => !names.has(name));
    const visibleEntries = visibleFields(fields, draft.problems, limit, added);
    const hiddenCount = fields.length - visibleEntries.length;
    return (
      <div class="nb-fields">
        {visibleEntries.map((entry) => (
          <Field
            key={entry.name}
            entry={entry}
            isText={is_form ? properties[entry.name]?.type === "string" : texts.has(entry.name)}
            isForm={is_form === true}
            schema={ownProperty(properties, entry.name) ?? {}}
            problem={ownProperty(draft.problems, entry.name) ?? ""}
            id={`${call.question.digest.slice(0, 12)}-${entry.name}`}
            set={this.#set}
            remove={isRequired(schema, entry.name) ? null : this.#remove}
          />
        ))}
        {hiddenCount > 0 && (
          <button
            type="button"
            class="nb-text-button"
            onClick={() => this.setState({ limit: limit + FIELDS_PER_STEP })}
          >
            Show {Math.min(FIELDS_PER_STEP, hiddenCount)} of the other {plural(hiddenCount, "argument")}
          </button>
        )}
        {addable.length > 0 && (
          <select
            aria-label="Add an argument"
            value=""
            onChange={({ currentTarget: { value } }) =>
              value && this.#add(value, ownProperty(properties, value) ?? {})
            }
          >
            <option value="">Add an argument …</option>
            {addable.map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        )}
        <MissingArguments names={missingRequired} problems={draft.problems} />
        {draft.text !== null && !is_form && <ArgumentChanges before={shown} after={draft.text} />}
      </div>
    );
  }
}

interface FieldProps {
  entry: ArgumentEntry;
  isText: boolean;
  /** Whether it is a field of a form, and not an argument of a call. */
  isForm: boolean;
  schema: Json;
  problem: string;
  id: string;
  set: (name: string, raw: string) => void;
  /** Null where it cannot be removed. */
  remove: ((name: string) => void) | null;
}

/** One of many fields: only a changed one is rendered again. */
class Field extends Component<FieldProps> {
  override shouldComponentUpdate({ entry, isText, problem }: FieldProps): boolean {
    const { props } = this;
    return entry.raw !== props.entry.raw || isText !== props.isText || problem !== props.problem;
  }

  render(): JSX.Element {
    return renderField(this.props);
  }
}

function renderField({ entry, isText, isForm, schema, problem, id, set, remove }: FieldProps): JSX.Element {
  const text = isText ? (toText(entry.raw) ?? "") : entry.raw; // as the field shows it: JSON may have escapes
  const escapes = hiddenEscapes(text);
  return (
    <div class="nb-field">
      <label for={id} id={`${id}-label`}>
        {isForm && typeof schema.title === "string" ? (
          <span class="nb-name">{markHidden(singleLine(schema.title, 300))}</span>
        ) : (
          <code class="nb-name">{markHidden(entry.name)}</code>
        )}{" "}
        {!(isForm && choicesOf(schema)) && (
          <span class="nb-muted">
            {isText && !("enum" in schema) && !(REFERENCE_TYPE in schema) ? "text" : typeOf(schema)}
          </span>
        )}
      </label>
      <Control {...{ entry, isText, isForm, schema, problem, id, set }} />
      {remove && (!isForm || (choicesOf(schema) && entry.raw !== "")) && (
        <button
          type="button"
          class="nb-text-button"
          aria-label={`Remove ${entry.name}`}
          onClick={() => remove(entry.name)}
        >
          Remove
        </button>
      )}
      {typeof schema.description === "string" && (
        <p class="nb-muted">{markHidden(singleLine(schema.description, 300))}</p>
      )}
      {problem && (
        <p class="nb-problem" id={`${id}-problem`}>
          <span aria-hidden="true">✕ </span>
          {problem}
        </p>
      )}
      {escapes.length > 0 && (
        <p class="nb-muted">
          {plural(escapes.length, "hidden or look-alike character")}:{" "}
          <mark class="nb-hidden-char">{escapes.slice(0, MAX_LISTED_ESCAPES).join(" ")}</mark>
          {escapes.length > MAX_LISTED_ESCAPES &&
            ` and ${plural(escapes.length - MAX_LISTED_ESCAPES, "character")} more`}
        </p>
      )}
    </div>
  );
}

function Control({
  entry,
  isText,
  isForm,
  schema,
  problem,
  id,
  set,
}: Omit<FieldProps, "remove">): JSX.Element {
  const choices = choicesOf(schema);
  const common = {
    id,
    class: "nb-code",
    spellcheck: false,
    "aria-invalid": problem !== "",
    ...(problem && { "aria-describedby": `${id}-problem` }),
  };
  if (choices && isForm && choices.length <= MAX_RADIO_BUTTONS)
    return <RadioButtons {...{ choices, entry, problem, id, set }} />;
  if (choices) {
    const options = choices.includes(entry.raw) ? choices : [entry.raw, ...choices];
    return (
      <select
        {...common}
        value={entry.raw}
        onChange={({ currentTarget }) => set(entry.name, currentTarget.value)}
      >
        {options.map((raw) => (
          <option value={raw}>
            {toText(raw) ?? (["null", ""].includes(raw) && !choices.includes(raw) ? "Choose …" : raw)}
          </option>
        ))}
      </select>
    );
  }
  const isEmpty = entry.raw === "null" && (schema.type === "number" || schema.type === "integer");
  const value = isText ? (toText(entry.raw) ?? "") : isEmpty ? "" : entry.raw;
  if (value.length > MAX_FIELD_CHARS)
    return (
      <output id={id} class="nb-muted">
        {tooLongToEdit(value.length)}
      </output>
    );
  return (
    <textarea
      {...common}
      rows={rowsFor(value)}
      value={value}
      onInput={({ currentTarget }) =>
        set(entry.name, isText ? JSON.stringify(currentTarget.value) : currentTarget.value)
      }
    />
  );
}

interface RadioProps extends Pick<FieldProps, "entry" | "problem" | "id" | "set"> {
  choices: string[];
}

/** The choices of a field of a form, all of them in view. */
function RadioButtons({ choices, entry, problem, id, set }: RadioProps): JSX.Element {
  return (
    <div
      id={id}
      class="nb-radio-buttons"
      role="radiogroup"
      aria-labelledby={`${id}-label`}
      aria-describedby={problem ? `${id}-problem` : undefined}
    >
      {choices.map((raw) => (
        <label key={raw}>
          <input type="radio" name={id} checked={entry.raw === raw} onChange={() => set(entry.name, raw)} />{" "}
          {markHidden(toText(raw) ?? (raw === "true" ? "yes" : "no"))}
        </label>
      ))}
    </div>
  );
}

/** Characters of a row of a field, about. */
const ROW_CHARS = 80;

/** Rows for a text where the browser does not size the field by what is in it. */
function rowsFor(text: string): number {
  const rows = text.split("\n").map(({ length }) => Math.max(1, Math.ceil(length / ROW_CHARS)));
  return Math.min(
    12,
    rows.reduce((sum, one) => sum + one),
  );
}

/** The problems of missing arguments. */
function MissingArguments({ names, problems }: { names: string[]; problems: ArgumentErrors }): JSX.Element {
  return (
    <>
      {names.slice(0, MAX_LISTED_MISSING).map((name) => (
        <p class="nb-problem">
          <span aria-hidden="true">✕ </span>
          {name !== WHOLE_FORM && (
            <>
              <code>{markHidden(name)}</code>:{" "}
            </>
          )}
          {ownProperty(problems, name)}
        </p>
      ))}
      {names.length > MAX_LISTED_MISSING && (
        <p class="nb-problem">… {plural(names.length - MAX_LISTED_MISSING, "argument")} more</p>
      )}
    </>
  );
}

/** The first arguments, the added ones, and as many with a problem as are rendered at first. */
function visibleFields(
  entries: ArgumentEntry[],
  problems: ArgumentErrors,
  limit: number,
  added: ReadonlySet<string>,
): ArgumentEntry[] {
  let left = FIELDS_PER_STEP;
  return entries.filter(
    ({ name }, at) => at < limit || added.has(name) || (Object.hasOwn(problems, name) && left-- > 0),
  );
}

function initialState(entries: ArgumentEntry[]): State {
  const texts = entries.filter(({ raw }) => toText(raw) !== null).map(({ name }) => name);
  return { entries, texts: new Set(texts), limit: FIELDS_PER_STEP, added: new Set() };
}

/** The arguments as JSON; the original text if nothing differs. */
function argumentsJson({ question }: PendingCall, entries: ArgumentEntry[]): string {
  const original = argumentEntries(question.shown) ?? [];
  const current = new Map(entries.map(({ name, raw }) => [name, raw]));
  const isUnchanged =
    original.length === entries.length && original.every(({ name, raw }) => current.get(name) === raw);
  return isUnchanged ? question.shown : toObject(entries);
}

function propertiesOf({ properties }: Json): Record<string, Json> {
  return (properties ?? {}) as Record<string, Json>;
}

/** All fields of a form; one that is not filled in has no value. */
function formFields(schema: Json, entries: ArgumentEntry[]): ArgumentEntry[] {
  const values = new Map(entries.map(({ name, raw }) => [name, raw]));
  return Object.keys(propertiesOf(schema)).map((name) => ({ name, raw: values.get(name) ?? "" }));
}

/** The values of a form with one more; an optional field that is left blank is not sent. */
function fillIn(schema: Json, entries: ArgumentEntry[], name: string, raw: string): ArgumentEntry[] {
  const isBlank = (toText(raw) ?? raw).trim() === "" && !choicesOf(propertiesOf(schema)[name] ?? {});
  const value = isBlank && toText(raw) !== null ? '""' : raw;
  return formFields(schema, entries)
    .map((entry) => (entry.name === name ? { name, raw: value } : entry))
    .filter((entry) =>
      entry.name === name
        ? !isBlank || isRequired(schema, name)
        : entries.some((had) => had.name === entry.name),
    );
}

/** What is wrong with a form: in plain words where nothing is filled in. */
function formProblems(schema: Json, entries: ArgumentEntry[]): ArgumentErrors {
  const raws = new Map(entries.map(({ name, raw }) => [name, raw]));
  const found = Object.entries(validateArguments(schema, entries)).map(([name, problem]) => {
    const isEmpty = ["null", '""', "", undefined].includes(raws.get(name));
    const advice = choicesOf(propertiesOf(schema)[name] ?? {}) ? "Choose one." : "Fill this in.";
    return [name, isEmpty ? advice : problem];
  });
  const isTooFew = entries.length < Number(schema.minProperties ?? 0);
  return Object.fromEntries([...found, ...(isTooFew ? [[WHOLE_FORM, "Fill in at least one field."]] : [])]);
}

function isRequired({ required }: Json, name: string): boolean {
  return Array.isArray(required) && required.includes(name);
}

function choicesOf({ enum: choices, type }: Json): string[] | null {
  if (Array.isArray(choices) && choices.length) return choices.map((choice) => JSON.stringify(choice));
  return type === "boolean" ? ["true", "false"] : null;
}

function typeOf({ type, enum: choices, anyOf, [REFERENCE_TYPE]: kind }: Json): string {
  if (kind) return "reference";
  if (Array.isArray(choices)) return "one of a list";
  if (Array.isArray(anyOf)) return anyOf.map((one) => typeOf(one as Json)).join(" or ");
  return typeof type === "string" ? typeWord(type) : "JSON";
}

function firstValue({ default: value, type }: Json): string {
  if (value !== undefined) return JSON.stringify(value);
  return type === "string" ? '""' : type === "boolean" ? "false" : "null";
}

/** The odd characters of a text, each as its escape. */
function hiddenEscapes(text: string): string[] {
  return [...hiddenRanges(text)].filter(({ raw, shown }) => raw !== shown).map(({ shown }) => shown);
}
