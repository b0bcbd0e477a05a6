/** Reads saved turns and conversations: their media types, their check by the schema. */
import { type Schema, Validator } from "@cfworker/json-schema";
import { type Document, VERSION } from "../protocol";
import schema from "./schema.json";
import { type FieldSchema, keepKnownFields, unknownFieldsNote } from "./unknownFields";

/** The media type of a turn as data. */
export const TURN_MIME = "application/vnd.nbtool.turn+json";

/** The media types of a conversation as data: as its history, and as one text to read. */
export const HISTORY_MIME = "application/vnd.nbtool.history+json";
export const CONVERSATION_MIME = "application/vnd.nbtool.conversation+json";

const validator = new Validator(schema as unknown as Schema, "2020-12");

/**
 * Parse a saved turn; null if any part is invalid: nothing invalid of a file is shown. Fields that this version does not
 * know are removed, and a notice says so.
 */
export function parseSavedTurn(value: unknown): Document | null {
  try {
    if ((value as Document | null)?.v !== VERSION || !isWithinLimits(value)) return null; // what is small is checked soon
    if (validator.validate(value).valid) return hasUniqueIds(value as Document) ? (value as Document) : null;
    const known = keepKnownFields(schema as unknown as FieldSchema, value);
    if (known.removed === 0 || !validator.validate(known.value).valid) return null;
    const document = withNotice(known.value as Document, unknownFieldsNote(known.removed));
    return hasUniqueIds(document) ? document : null;
  } catch {
    return null; // nested too deeply
  }
}

/** Append a notice to a turn. */
function withNotice(document: Document, text: string): Document {
  const notice = { id: "unknown-fields", kind: "notice", text, level: "info" } as const;
  return { ...document, blocks: [...document.blocks, notice] };
}

/** Whether its texts, and its images and sounds, are within the limits. */
function isWithinLimits(value: unknown): boolean {
  let media = 0;
  const texts = JSON.stringify(value, (key, inner: unknown) => {
    if (key !== "data" || typeof inner !== "string") return inner;
    media += inner.length;
    return "";
  });
  return texts.length <= schema.dataLimit && media <= schema.mediaLimit;
}

/** Whether the ids of the blocks are unique, as the view requires. */
function hasUniqueIds({ blocks }: Document): boolean {
  return new Set(blocks.map(({ id }) => id)).size === blocks.length;
}
