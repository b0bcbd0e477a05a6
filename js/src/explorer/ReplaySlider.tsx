import type { JSX } from "preact";
import { formatSeconds } from "../text/format";
import type { Step } from "./protocol";

interface SliderProps {
  steps: Step[];
  position: number;
  move: (upto: number) => void;
}

/** The replay of a turn: nothing runs, its record is folded up to a step. */
export function ReplaySlider({ steps, position, move }: SliderProps): JSX.Element {
  const current = Math.min(Math.max(position, 0), steps.length);
  return (
    <div class="nb-x-slider">
      <StepButton sign="◀" name="Previous step" isOff={current === 0} press={() => move(current - 1)} />
      <input
        type="range"
        min={0}
        max={steps.length}
        value={current}
        aria-label="Replay up to a step"
        aria-valuetext={stepText(steps, current)}
        onInput={(event) => move(Number(event.currentTarget.value))}
      />
      <StepButton
        sign="▶"
        name="Next step"
        isOff={current === steps.length}
        press={() => move(current + 1)}
      />
      <span class="nb-x-step">{stepText(steps, current)}</span>
    </div>
  );
}

interface StepButtonProps {
  sign: string;
  name: string;
  isOff: boolean;
  press: () => void;
}

function StepButton({ sign, name, isOff, press }: StepButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class="nb-button nb-x-step-button"
      aria-label={name}
      disabled={isOff}
      onClick={press}
    >
      {sign}
    </button>
  );
}

function stepText(steps: Step[], position: number): string {
  const step = steps[position - 1];
  if (!step) return `Before the first of ${steps.length} steps`;
  const at = step.at === null ? "" : ` · ${formatSeconds(step.at)}`;
  return `Step ${position} of ${steps.length}: ${step.label}${at}`;
}
