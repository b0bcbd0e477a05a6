import type { JSX } from "preact";
import type { TurnStatus } from "../protocol";
import type { Talk } from "./client";
import type { Deed } from "./protocol";

export type { Deed } from "./protocol";

interface DeedsProps {
  talk: Talk;
  turn: string;
  status: TurnStatus;
  compare: () => void;
}

/** What can be done with a turn: each writes a cell that does it, and none runs. */
export function TurnDeeds({ talk, turn, status, compare }: DeedsProps): JSX.Element {
  const isOver = status !== "running" && status !== "waiting" && status !== "parked";
  const offered: [Deed, string, boolean][] = [
    ["go_on", "Go on with this chat", true],
    ["rerun", "Rerun", isOver],
    ["edit", "Edit prompt", isOver],
    ["execute", "Re-execute", isOver],
    ["resume", "Resume", isOver && status !== "completed"],
    ["switch", "Switch to it", true],
    ["branch", "Branch after it", true],
    ["code", "As code", isOver],
  ];
  return (
    <div class="nb-row nb-x-deeds">
      {offered.map(
        ([deed, label, fits]) =>
          fits &&
          talk.acts.includes(deed) && (
            <DeedButton key={deed} label={label} press={() => talk.write({ deed, turn })} />
          ),
      )}
      <DeedButton label="Compare with…" press={compare} />
    </div>
  );
}

/** A small button of a deed. */
export function DeedButton({ label, press }: { label: string; press: () => void }): JSX.Element {
  return (
    <button type="button" class="nb-button nb-x-deed" onClick={press}>
      {label}
    </button>
  );
}
