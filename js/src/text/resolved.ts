/** Arguments that are references, as texts. */
import type { ResolvedReferenceShape, ResolvedShape } from "../protocol";

/** The reference that an argument is, where it is nothing else. */
export function onlyReference(argument: ResolvedShape): ResolvedReferenceShape | undefined {
  return argument.is_reference ? argument.references[0] : undefined;
}

/** The target of an argument as one text. */
export function resolvedText(argument: ResolvedShape): string {
  const references = argument.references.map(({ name, text }) => `${name}: ${text}`).join("; ");
  if (argument.is_reference) return references;
  return references ? `${argument.text} (${references})` : argument.text;
}
