import type { ResolvedArgument } from "../src/protocol";

/** An argument without references. */
export function plain(text: string): ResolvedArgument {
  return { text, references: [], is_reference: false };
}

/** An argument that is a reference to an object. */
export function reference(name: string, text: string, summary = text): ResolvedArgument {
  return { text: `"$VAR_REF{{${name}}}"`, references: [{ name, text, summary }], is_reference: true };
}
