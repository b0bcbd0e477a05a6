import { type Schema, Validator } from "@cfworker/json-schema";
import { type Document, VERSION } from "../protocol";
import schema from "./schema.json";
import { upgrade } from "./upgrade";

/** The media type of a turn as data. */
export const TURN_MIME = "application/vnd.nbtool.turn+json";

/** The media types of a conversation as data: as its history, and as one text to read. */
export const HISTORY_MIME = "application/vnd.nbtool.history+json";
export const CONVERSATION_MIME = "application/vnd.nbtool.conversation+json";

const validator = new Validator(schema as unknown as Schema, "2020-12");

/** Parse a saved turn; null if any part is invalid: nothing invalid of a file is shown. */
export function parseSavedTurn(value: unknown): Document | null {
  try {
    if ((value as Document | null)?.v !== VERSION || !isWithinLimits(value)) return null; // what is small is checked soon
    return validator.validate(value).valid && hasUniqueIds(value as Document)
      ? upgrade(value as Document)
      : null;
  } catch {
    return null; // nested too deeply
  }
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
