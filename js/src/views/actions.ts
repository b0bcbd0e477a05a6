/** The buttons for turns and calls, wherever they stand: from the table of nbtool/view/actions.py. */
import { isLive } from "../kernel/turn";
import type { ActionId, ActionNeed, ActionPlace, Document } from "../protocol";
import { actions } from "../text/actions.json";
import { pendingCalls } from "./approval/pending";

export interface ActionData {
  label: string;
  help: string;
  places: readonly ActionPlace[];
  needs?: readonly ActionNeed[];
  cell?: string;
  in_place?: string;
}

export const ACTIONS = actions as unknown as Record<ActionId, ActionData>;

/** The actions that are offered at any of these places, in the order of their buttons. */
export function actionsAt(...places: ActionPlace[]): ActionId[] {
  const all = Object.keys(ACTIONS) as ActionId[];
  return all.filter((action) => ACTIONS[action].places.some((place) => places.includes(place)));
}

/** Whether the turn is what an action needs it to be. */
export function isPossible(action: ActionId, document: Document): boolean {
  const { head, blocks } = document;
  const facts: Record<ActionNeed, () => boolean> = {
    ended: () => !isLive(document) && head.status !== "parked" && pendingCalls(document).length === 0,
    stopped: () => head.status !== "completed",
    calls: () => blocks.some(({ kind }) => kind === "call"),
    changes: () => Boolean(head.undo),
    versions: () => head.turns !== undefined && head.turns.length === head.versions,
  };
  return (ACTIONS[action].needs ?? []).every((need) => facts[need]());
}

/** The name of an action's button, and its tooltip. */
export function actionText(action: ActionId, round = 0): { name: string; title: string } {
  const { label, help } = ACTIONS[action];
  const name = label.replace("{round}", String(round));
  return { name, title: `${name}: ${help}` };
}
