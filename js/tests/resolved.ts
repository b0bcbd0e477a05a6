import type { ResolvedShape } from "../src/protocol";

/** An argument without references. */
export function plain(text: string): ResolvedShape {
  return { text, references: [], is_reference: false };
}

/** An argument that is a reference to an object. */
export function reference(name: string, text: string, summary = text): ResolvedShape {
  return { text: `"$VAR_REF{{${name}}}"`, references: [{ name, text, summary }], is_reference: true };
}
