import type { JSX } from "preact";
import { seconds } from "../text/format";
import type { Step } from "./protocol";

interface SliderProps {
  steps: Step[];
  upto: number;
  move: (upto: number) => void;
}

/** The replay of a turn: nothing runs, its record is folded up to a step. */
export function Slider({ steps, upto, move }: SliderProps): JSX.Element {
  const to = Math.min(Math.max(upto, 0), steps.length);
  return (
    <div class="nb-x-slider">
      <Press sign="◀" name="One step back" isOff={to === 0} press={() => move(to - 1)} />
      <input
        type="range"
        min={0}
        max={steps.length}
        value={to}
        aria-label="Replay up to a step"
        aria-valuetext={said(steps, to)}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <Press sign="▶" name="One step on" isOff={to === steps.length} press={() => move(to + 1)} />
      <span class="nb-x-step">{said(steps, to)}</span>
    </div>
  );
}

interface PressProps {
  sign: string;
  name: string;
  isOff: boolean;
  press: () => void;
}

function Press({ sign, name, isOff, press }: PressProps): JSX.Element {
  return (
    <button type="button" class="nb-button nb-x-press" aria-label={name} disabled={isOff} onClick={press}>
      {sign}
    </button>
  );
}

function said(steps: Step[], upto: number): string {
  const step = steps[upto - 1];
  if (!step) return `Before the first of ${steps.length} steps`;
  const at = step.at === null ? "" : ` · ${seconds(step.at)}`;
  return `Step ${upto} of ${steps.length}: ${step.label}${at}`;
}
