/** The explorer's toolbar: search, filters and tabs. */
import type { JSX } from "preact";
import { formatCost, plural, turnSeconds } from "../text/format";
import { actionText } from "../views/actions";
import { countTurnsWithOmittedTools, type Filter, filterOptions, isFiltered } from "./listRows";
import type { Index } from "./protocol";

export type View = "turn" | "compare" | "totals";

const VIEW_LABELS: Record<View, string> = { turn: "Turn", compare: "Compare", totals: "Totals" };

interface ToolbarProps {
  title: string;
  index: Index | null;
  filter: Filter;
  onFilter: (change: Partial<Filter>) => void;
  /** How many rows match the filter; undefined while the kernel searches. */
  matches: number | undefined;
  /** Open the next or the previous turn that matches, by the number of steps. */
  step: (by: number) => void;
  /** Undefined for a saved conversation, which is what it was. */
  refresh: (() => void) | undefined;
  /** Insert a cell that writes the chat to a file; undefined where that cannot be. */
  exportChat: (() => void) | undefined;
}

/** What the history is of, and what of it is looked for. */
export function Toolbar({
  title,
  index,
  filter,
  onFilter,
  matches,
  step,
  refresh,
  exportChat,
}: ToolbarProps): JSX.Element {
  const { statuses, tools, omittedTools } = filterOptions(index ?? { rows: [], left_out: 0 });
  return (
    <header class="nb-x-toolbar">
      <b class="nb-x-title">{title}</b>
      <input
        type="search"
        placeholder="Search prompts, replies, calls"
        aria-label="Search prompts, replies and calls"
        title="Enter or ↓: the next turn that matches; Shift+Enter or ↑: the previous one"
        maxlength={200}
        value={filter.text}
        onKeyDown={(event) => onSearchKey(event, step)}
        onInput={(event) => onFilter({ text: event.currentTarget.value })}
      />
      <FilterSelect
        label="Status"
        anyLabel="any status"
        value={filter.status}
        values={statuses}
        choose={(status) => onFilter({ status })}
      />
      <FilterSelect
        label="Tool"
        anyLabel="any tool"
        value={filter.tool}
        values={tools}
        omitted={omittedTools}
        choose={(tool) => onFilter({ tool })}
      />
      <span class="nb-muted nb-x-count" aria-live="polite">
        {index ? countText(index, filter, matches) : "Loading"}
      </span>
      {exportChat && (
        <button type="button" class="nb-text-button" title={actionText("export").title} onClick={exportChat}>
          {actionText("export").name}
        </button>
      )}
      {refresh ? (
        <button type="button" class="nb-text-button" onClick={refresh}>
          Refresh
        </button>
      ) : (
        <span class="nb-muted" title="Run the cell to see the present history, with actions">
          saved with the notebook
        </span>
      )}
    </header>
  );
}

/** What the active line took, in the words of a turn's footer; nothing where no kernel has said it. */
export function LineTotalsView({ index }: { index: Index }): JSX.Element | null {
  const { line_totals: line } = index;
  if (!line?.turns) return null;
  const facts = [
    plural(line.turns, "turn"),
    line.calls > 0 && plural(line.calls, "call"),
    line.tokens > 0 && plural(line.tokens, "token"),
    formatCost(line),
    line.seconds > 0 && turnSeconds(line),
  ];
  return <p class="nb-muted nb-small nb-x-line">Active line: {facts.filter(Boolean).join(" · ")}</p>;
}

/** Go through the turns that match, without leaving the field. */
function onSearchKey(event: KeyboardEvent, step: (by: number) => void): void {
  const by = { Enter: event.shiftKey ? -1 : 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || event.isComposing) return;
  event.preventDefault();
  event.stopPropagation();
  step(by);
}

function countText(index: Index, filter: Filter, matches: number | undefined): string {
  const { rows, left_out } = index;
  const turns = rows.reduce((sum, row) => sum + row.versions.length, 0);
  const omitted = left_out ? `, ${left_out.toLocaleString("en")} more not shown` : "";
  const unlisted = filter.tool ? countTurnsWithOmittedTools(index) : 0;
  const note = unlisted
    ? `; ${plural(unlisted, "turn")} with too many tools to list may be missing: search instead`
    : "";
  const others = turns > rows.length ? `, ${plural(turns - rows.length, "other version")}` : "";
  const all = `${plural(rows.length, "turn")}${others}${omitted}${note}`;
  if (!isFiltered(filter)) return all;
  return matches === undefined ? "searching …" : `${matches.toLocaleString("en")} of ${all}`;
}

interface FilterSelectProps {
  label: string;
  anyLabel: string;
  value: string;
  values: string[];
  omitted?: number;
  choose: (value: string) => void;
}

function FilterSelect({
  label,
  anyLabel,
  value,
  values,
  omitted = 0,
  choose,
}: FilterSelectProps): JSX.Element {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">{anyLabel}</option>
      {values.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
      {omitted > 0 && <option disabled>{omitted.toLocaleString("en")} more: search for the name</option>}
    </select>
  );
}

/** The view that is shown next to the tree. */
export function Tabs({ view, choose }: { view: View; choose: (view: View) => void }): JSX.Element {
  const names = Object.keys(VIEW_LABELS) as View[];
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
    <div class="nb-x-tabs" role="tablist" aria-label="View" tabIndex={-1} onKeyDown={move}>
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
          {VIEW_LABELS[one]}
        </button>
      ))}
    </div>
  );
}
