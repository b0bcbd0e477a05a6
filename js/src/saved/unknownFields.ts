/** Removes from saved data what this version's schema does not list: a newer nbtool may have saved more. */

/** The parts of a schema of saved data that say which fields it has; see nbtool/blocks/protocol_schema.py. */
export interface FieldSchema {
  anyOf?: readonly FieldSchema[];
  items?: FieldSchema;
  properties?: Record<string, FieldSchema>;
  additionalProperties?: FieldSchema | boolean;
  const?: unknown;
  enum?: readonly unknown[];
}

interface KnownPart {
  /** A copy without the other fields; what is neither an object nor a list is the same. */
  value: unknown;
  /** How many fields were removed. */
  removed: number;
}

/** Keep of a value what its schema lists; whether that is valid is checked afterwards. */
export function keepKnownFields(schema: FieldSchema, value: unknown): KnownPart {
  if (typeof value !== "object" || value === null) return { value, removed: 0 };
  if (schema.anyOf) {
    const form = schema.anyOf.find((one) => isOfForm(one, value));
    return form ? keepKnownFields(form, value) : { value, removed: 0 };
  }
  if (Array.isArray(value)) {
    const parts = value.map((one) => keepKnownFields(schema.items ?? {}, one));
    return { value: parts.map((part) => part.value), removed: sum(parts) };
  }
  const { properties, additionalProperties } = schema;
  if (!properties && typeof additionalProperties !== "object") return { value, removed: 0 };
  const entries = Object.entries(value);
  const kept = entries.filter(([name]) => !properties || Object.hasOwn(properties, name));
  const parts = kept.map(([name, one]) =>
    keepKnownFields(properties?.[name] ?? (additionalProperties as FieldSchema), one),
  );
  return {
    value: Object.fromEntries(kept.map(([name], at) => [name, parts[at]?.value])),
    removed: entries.length - kept.length + sum(parts),
  };
}

/** What a person reads of the fields that were removed; empty if there are none. */
export function unknownFieldsNote(removed: number): string {
  if (removed === 0) return "";
  const fields = removed === 1 ? "1 field" : `${removed.toLocaleString("en")} fields`;
  return `Not shown: ${fields} that this version of the nbtool extension does not know. A newer nbtool made this: after an update of nbtool, reload the page.`;
}

/** Whether an object may be of one of several forms: by its kind, which blocks have, or as the only object among them. */
function isOfForm({ properties, additionalProperties }: FieldSchema, value: object): boolean {
  if (Array.isArray(value)) return false;
  const kind = properties?.kind;
  if (!kind) return properties !== undefined || typeof additionalProperties === "object";
  const own = (value as { kind?: unknown }).kind;
  return kind.const === own || (kind.enum?.includes(own) ?? false);
}

function sum(parts: readonly KnownPart[]): number {
  return parts.reduce((total, { removed }) => total + removed, 0);
}
