/** The names of results in code that a model wrote: they are names of the conversation until they are bound. */
import type { Document } from "../../protocol";

const NAME = /^[\p{L}_][\p{L}\p{N}_]{0,99}$/u;

/** Return code with a line before it for each result of the turn that it uses and does not define: it binds the name. */
export function withResults(code: string, document: Document | undefined): string {
  const calls = document?.blocks.filter((block) => block.kind === "call") ?? [];
  const names = new Set(calls.map(({ reference }) => reference).filter((name) => NAME.test(name)));
  const used = [...names].filter((name) => uses(code, name) && !defines(code, name));
  const chat = document?.head.chat ? `-c ${document.head.chat} ` : "";
  return [...used.map((name) => `%chat ${chat}bind ${name}`), code].join("\n");
}

function uses(code: string, name: string): boolean {
  return new RegExp(`(?<![\\p{L}\\p{N}_.])${name}(?![\\p{L}\\p{N}_])`, "u").test(code);
}

function defines(code: string, name: string): boolean {
  return new RegExp(
    `^\\s*(?:(?:async\\s+)?def\\s+${name}\\b|class\\s+${name}\\b|${name}\\s*(?::[^=\\n]+)?=(?!=))`,
    "mu",
  ).test(code);
}
