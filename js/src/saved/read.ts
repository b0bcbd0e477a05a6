import { type Schema, Validator } from "@cfworker/json-schema";
import { type Document, VERSION } from "../protocol";
import schema from "./schema.json";

/** The media type of a turn as data. */
export const TURN_MIME = "application/vnd.nbtool.turn+json";

const validator = new Validator(schema as unknown as Schema, "2020-12");

/** A saved turn, where it is one in every part of it: whoever made the file, this is all that is ever shown. */
export function readSaved(value: unknown): Document | null {
  try {
    if ((value as Document | null)?.v !== VERSION || !validator.validate(value).valid) return null;
    return JSON.stringify(value).length <= schema.dataLimit && hasOwnIds(value as Document)
      ? (value as Document)
      : null;
  } catch {
    return null; // nested too deep to be looked at
  }
}

/** Whether each block has an id of its own, as the view needs it. */
function hasOwnIds({ blocks }: Document): boolean {
  return new Set(blocks.map(({ id }) => id)).size === blocks.length;
}
