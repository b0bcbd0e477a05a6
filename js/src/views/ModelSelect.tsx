import type { JSX } from "preact";
import type { ModelChoice } from "../protocol";
import { singleLine } from "../text/format";

interface ModelSelectProps {
  /** The models, that of the chat first; one without a first line of a cell cannot be chosen. */
  models: readonly ModelChoice[];
  chosen: ModelChoice | undefined;
  label: string;
  onChoose: (choice: ModelChoice) => void;
}

/** The list of models for a cell; the chat stays with the chosen one. */
export function ModelSelect({ models, chosen = models[0], label, onChoose }: ModelSelectProps): JSX.Element {
  return (
    <select
      aria-label={label}
      title={`${label}: ${singleLine(chosen?.name ?? "", 120)}. The chat goes on with it.`}
      value={chosen?.name}
      onChange={({ currentTarget }) => {
        const choice = models.find(({ name, magic }) => name === currentTarget.value && magic);
        if (choice) onChoose(choice);
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      {models.map(({ name, note, magic }) => (
        <option key={name} value={name} disabled={!magic}>
          {singleLine(name, 60)}
          {note && ` (${singleLine(note, 80)})`}
        </option>
      ))}
    </select>
  );
}
