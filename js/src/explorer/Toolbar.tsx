import type { JSX } from "preact";
import { counted } from "../text/format";
import { choices, type Filter } from "./listRows";
import type { Index } from "./protocol";

export type View = "turn" | "compare" | "totals";

const VIEWS: Record<View, string> = { turn: "Turn", compare: "Compare", totals: "Totals" };

interface ToolbarProps {
  title: string;
  index: Index | null;
  filter: Filter;
  change: (change: Partial<Filter>) => void;
  refresh: () => void;
}

/** What the history is of, and what of it is looked for. */
export function Toolbar({ title, index, filter, change, refresh }: ToolbarProps): JSX.Element {
  const { statuses, tools } = index ? choices(index) : { statuses: [], tools: [] };
  return (
    <header class="nb-x-bar">
      <b class="nb-x-title">{title}</b>
      <input
        type="search"
        placeholder="Search prompts, replies, calls"
        aria-label="Search prompts, replies and calls"
        maxlength={200}
        value={filter.text}
        onInput={(event) => change({ text: event.currentTarget.value })}
      />
      <Choice
        label="Status"
        every="any status"
        value={filter.status}
        values={statuses}
        choose={(status) => change({ status })}
      />
      <Choice
        label="Tool"
        every="any tool"
        value={filter.tool}
        values={tools}
        choose={(tool) => change({ tool })}
      />
      <span class="nb-quiet nb-x-count">{index ? counts(index) : "Asking the kernel"}</span>
      <button type="button" class="nb-plain" onClick={refresh}>
        Refresh
      </button>
    </header>
  );
}

function counts({ rows, left_out }: Index): string {
  const turns = rows.reduce((sum, row) => sum + row.versions.length, 0);
  const more = left_out ? `, ${left_out.toLocaleString("en")} more not shown` : "";
  return `${counted(rows.length, "place")}, ${counted(turns, "turn")}${more}`;
}

interface ChoiceProps {
  label: string;
  every: string;
  value: string;
  values: string[];
  choose: (value: string) => void;
}

function Choice({ label, every, value, values, choose }: ChoiceProps): JSX.Element {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">{every}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}

/** Which of the views stands beside the tree. */
export function Tabs({ view, choose }: { view: View; choose: (view: View) => void }): JSX.Element {
  const names = Object.keys(VIEWS) as View[];
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = names[(names.indexOf(view) + by + names.length) % names.length] as View;
    choose(next);
    const tab = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-view=${next}]`);
    tab?.focus();
  };
  return (
    <div class="nb-x-tabs" role="tablist" aria-label="What is shown" tabIndex={-1} onKeyDown={move}>
      {names.map((one) => (
        <button
          key={one}
          type="button"
          role="tab"
          class="nb-x-tab"
          data-view={one}
          aria-selected={one === view}
          aria-controls="nb-x-panel"
          tabIndex={one === view ? 0 : -1}
          onClick={() => choose(one)}
        >
          {VIEWS[one]}
        </button>
      ))}
    </div>
  );
}
