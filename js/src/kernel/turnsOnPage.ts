/** The turns on this page, by their ids: a turn has another connection once it is parked, and each widget its own script. */
import type { Document } from "../protocol";
import type { LinkState } from "./link";

export interface TurnOnPage {
  state(): { document: Document; link: LinkState };
}

const KEY = Symbol.for("nbtool.turns");
const globals = globalThis as unknown as Record<symbol, Map<string, TurnOnPage> | undefined>;

/** Note the newest connection of a turn, until the signal. */
export function noteTurn(id: string, turn: TurnOnPage, signal: AbortSignal): void {
  globals[KEY] ??= new Map();
  const turns = globals[KEY];
  turns.set(id, turn);
  signal.addEventListener("abort", () => turns.get(id) === turn && turns.delete(id));
}

/** Return the newest connection of a turn; undefined once none is left. */
export function turnOnPage(id: string): TurnOnPage | undefined {
  return globals[KEY]?.get(id);
}
