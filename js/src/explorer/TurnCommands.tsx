import type { JSX } from "preact";
import type { TurnStatus } from "../protocol";
import type { ExplorerClient } from "./client";
import type { CellAction } from "./protocol";

export type { CellAction } from "./protocol";

interface TurnActionsProps {
  client: ExplorerClient;
  turn: string;
  status: TurnStatus;
  compare: () => void;
}

/** What can be done with a turn: each writes a cell that does it, and none runs. */
export function TurnActions({ client, turn, status, compare }: TurnActionsProps): JSX.Element {
  const hasEnded = status !== "running" && status !== "waiting" && status !== "parked";
  const offers: [CellAction, string, boolean][] = [
    ["go_on", "Continue this chat", true],
    ["rerun", "Rerun", hasEnded],
    ["edit", "Edit prompt", hasEnded],
    ["execute", "Re-execute", hasEnded],
    ["resume", "Resume", hasEnded && status !== "completed"],
    ["switch", "Switch to this turn", true],
    ["branch", "Branch from here", true],
    ["code", "As code", hasEnded],
  ];
  return (
    <div class="nb-row nb-x-actions">
      {offers.map(
        ([action, label, fits]) =>
          fits &&
          client.actions.includes(action) && (
            <ActionButton key={action} label={label} press={() => client.requestCell({ action, turn })} />
          ),
      )}
      <ActionButton label="Compare with…" press={compare} />
    </div>
  );
}

/** A small button that runs an action. */
export function ActionButton({ label, press }: { label: string; press: () => void }): JSX.Element {
  return (
    <button type="button" class="nb-button nb-x-action" onClick={press}>
      {label}
    </button>
  );
}
