/** The messages between kernel and explorer: their types, generated from Python, and a check of what arrives. */

import type { Answer, CellRequestData } from "../generated";

export type {
  Answer,
  Detail,
  ExplorerRequest,
  Index,
  Party,
  Row,
  SearchHit,
  Span,
  Step,
  TotalRow,
  Totals,
  Version,
} from "../generated";

/** A cell that the person requests. */
export type CellRequest = Omit<CellRequestData, "kind">;

/** Whether a message of the kernel is one that this page understands. */
export function isAnswer(value: unknown): value is Answer {
  if (!isObject(value) || value.v !== 1) return false;
  switch (value.kind) {
    case "index":
      return isObject(value.index) && Array.isArray(value.index.rows);
    case "turn":
      return isObject(value.detail) && Array.isArray(value.detail.steps) && Array.isArray(value.detail.spans);
    case "found":
      return Array.isArray(value.found);
    case "totals":
      return isObject(value.totals) && Array.isArray(value.totals.tools);
    case "cell":
    case "named":
    case "refused":
      return typeof value.text === "string";
    default:
      return false;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
