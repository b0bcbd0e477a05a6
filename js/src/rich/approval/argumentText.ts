/** A call's arguments, each as its JSON text, so that long numbers keep their digits. */

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** One argument: its name, and its value as JSON. */
export interface ArgumentEntry {
  name: string;
  raw: string;
}

/** Read the members of a JSON object; null where it is none. A doubled name keeps its last value, as JSON does. */
export function argumentEntries(text: string): ArgumentEntry[] | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  } catch {
    return null;
  }
  const members = new Map<string, string>();
  let depth = 0;
  let name: string | null = null;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (depth === 1 && (token === "," || token === "}")) {
      if (name !== null) members.set(name, text.slice(start, index).trim());
      name = null;
    } else if (depth === 1 && token === ":") start = index + 1;
    else if (depth === 1 && name === null && token.startsWith('"')) name = JSON.parse(token) as string;
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
  }
  return [...members].map(([key, raw]) => ({ name: key, raw }));
}

/** Write arguments as a JSON object again. */
export function toObject(entries: ArgumentEntry[]): string {
  return `{${entries.map(({ name, raw }) => `${JSON.stringify(name)}: ${raw}`).join(", ")}}`;
}

/** The text of a JSON string; null for any other value, and for what is no JSON. */
export function toText(raw: string): string | null {
  const value = parseJson(raw);
  return typeof value === "string" ? value : null;
}

/** The value of a piece of JSON; undefined for what is none. */
export function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}
