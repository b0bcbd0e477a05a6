import type { JSX } from "preact";
import type { Document } from "../protocol";
import { actionsAt, actionText, isPossible } from "../views/actions";
import { CopyToChat } from "../views/CopyToChat";
import type { ExplorerClient } from "./client";

interface TurnActionsProps {
  client: ExplorerClient;
  document: Document;
  compare: () => void;
}

/** What can be done with a turn: each writes a cell that does it, and none runs. */
export function TurnActions({ client, document, compare }: TurnActionsProps): JSX.Element {
  const turn = document.head.turn_id;
  const offered = actionsAt("explorer", "past").filter(
    (action) => client.actions.includes(action) && isPossible(action, document),
  );
  return (
    <div class="nb-row nb-x-actions">
      {offered.map((action) => (
        <ActionButton
          key={action}
          label={actionText(action).name}
          title={actionText(action).title}
          press={() => client.requestCell({ action, turn })}
        />
      ))}
      <ActionButton label="Compare with…" press={compare} />
      {offered.includes("branch") && (
        <CopyToChat
          key={turn}
          buttonClass="nb-button nb-x-action"
          name={(name) => client.nameBranch(turn, name)}
        />
      )}
    </div>
  );
}

interface ActionButtonProps {
  label: string;
  title?: string;
  press: () => void;
}

/** A small button that runs an action. */
export function ActionButton({ label, title, press }: ActionButtonProps): JSX.Element {
  return (
    <button type="button" class="nb-button nb-x-action" title={title} onClick={press}>
      {label}
    </button>
  );
}
