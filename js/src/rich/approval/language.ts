import { ownProperty } from "../../views/approval/pending";
import { type ArgumentEntry, toText } from "./argumentText";

const TYPES: Record<string, string> = {
  "text/x-python": "python",
  "application/sql": "sql",
  "text/javascript": "javascript",
  "text/html": "xml",
  "application/json": "json",
  "application/x-sh": "bash",
};
const NAMES: Record<string, string> = {
  code: "python",
  python: "python",
  source: "python",
  script: "python",
  sql: "sql",
  bash: "bash",
  shell: "bash",
  cmd: "bash",
  command: "bash",
  javascript: "javascript",
};
const EXTENSIONS: Record<string, string> = {
  py: "python",
  js: "javascript",
  ts: "typescript",
  json: "json",
  sql: "sql",
  sh: "bash",
  md: "markdown",
  html: "xml",
  xml: "xml",
  yml: "yaml",
  yaml: "yaml",
  toml: "ini",
};

/** The language that an argument is written in, by its schema, its name, or the file it is for; empty for none. */
export function detectLanguage(
  { name, raw }: ArgumentEntry,
  schema: unknown,
  others: ArgumentEntry[],
): string {
  const { contentMediaType } = (schema ?? {}) as { contentMediaType?: unknown };
  if (typeof contentMediaType === "string") return ownProperty(TYPES, contentMediaType) ?? "";
  const text = toText(raw) ?? "";
  if (name === "query" && /^\s*(select|with|insert|update|delete|create)\b/i.test(text)) return "sql";
  if (name === "content" || name === "text") return ownProperty(EXTENSIONS, fileExtension(others)) ?? "";
  return ownProperty(NAMES, name) ?? "";
}

function fileExtension(entries: ArgumentEntry[]): string {
  const path = entries.find(({ name }) => name === "path" || name === "file" || name === "filename");
  return /\.(\w+)$/.exec(toText(path?.raw ?? "") ?? "")?.[1]?.toLowerCase() ?? "";
}
