/** The messages between kernel and page: their types, generated from Python, and checks of what arrives. */

import type { Document, KernelMessage, PageMessage } from "./generated";

export type * from "./generated";

export const VERSION = 1 satisfies Document["v"];

/** A decision of the person. */
export type Decision = Extract<PageMessage, { digest: string }>;

/** Whether a value is a turn's document. */
export function isDocument(value: unknown): value is Document {
  return isObject(value) && value.v === VERSION && isObject(value.head) && Array.isArray(value.blocks);
}

/** Whether a message of the kernel is one that this page understands. */
export function isKernelMessage(value: unknown): value is KernelMessage {
  if (!isObject(value) || value.v !== VERSION) return false;
  switch (value.kind) {
    case "patches":
      return typeof value.seq === "number" && Array.isArray(value.patches) && value.patches.every(isPatch);
    case "snapshot":
      return typeof value.seq === "number" && isDocument(value.document);
    case "rich":
      return typeof value.version === "string";
    case "media":
      return typeof value.key === "string";
    case "left":
      return Array.isArray(value.pages) && Array.isArray(value.places) && value.places.every(isReplacement);
    case "form":
      return isObject(value.data);
    case "ack":
    case "pong":
    case "decided":
    case "cell":
    case "added":
    case "bound":
      return typeof value.id === "string";
    default:
      return false;
  }
}

function isReplacement(value: unknown): boolean {
  return isObject(value) && typeof value.was === "string" && isObject(value.data);
}

function isPatch(value: unknown): boolean {
  if (Array.isArray(value)) return value.length <= 3 && value.every((one) => typeof one === "string");
  return isObject(value) && ["open", "extend", "update", "head"].includes(value.op as string);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
