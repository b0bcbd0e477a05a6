/** The explorer's totals, drawn as bars and texts: tokens, cost and time by tool, round and model. */
import { Component, type JSX } from "preact";
import { formatCost, formatSeconds, plural, singleLine } from "../text/format";
import type { Party, TotalRow, Totals } from "./protocol";

type Metric = "seconds" | "tokens" | "cost";

const METRIC_LABELS: Record<Metric, string> = { seconds: "time", tokens: "tokens", cost: "cost" };
const PARTY_LABELS: Record<Party, string> = { model: "the model", person: "you", tool: "tools" };

/** What the conversation took, as bars: by whom it waited for, by tool, by round and by model. */
export class TotalsView extends Component<{ totals: Totals | null }, { metric: Metric }> {
  override state: { metric: Metric } = { metric: "seconds" };

  render(): JSX.Element {
    const { totals } = this.props;
    if (!totals) return <p class="nb-muted">Loading…</p>;
    const { metric } = this.state;
    const { all, tools, rounds, models, waited } = totals;
    return (
      <article aria-label="Totals">
        <p class="nb-muted">All versions of all turns, on all branches.</p>
        <p class="nb-x-figures">
          <Figure
            value={totals.turns.toLocaleString("en")}
            noun={totals.turns === 1 ? "version" : "versions"}
          />
          <Figure value={all.count.toLocaleString("en")} noun={all.count === 1 ? "round" : "rounds"} />
          <Figure value={countTotal(tools, "count").toLocaleString("en")} noun="calls" />
          <Figure value={(all.input_tokens + all.output_tokens).toLocaleString("en")} noun="tokens" />
          {formatCost(all) && <Figure value={formatCost(all)} noun={all.cost === null ? "" : "spent"} />}
          <Figure value={formatSeconds(all.seconds)} noun="of the model" />
        </p>
        <Bars
          title="Waiting time"
          rows={(Object.keys(PARTY_LABELS) as Party[]).map((who) => [
            PARTY_LABELS[who],
            waited[who],
            formatSeconds(waited[who]),
          ])}
        />
        <Bars title="Tools, by time" rows={tools.map((sum) => [sum.name, sum.seconds, callCounts(sum)])} />
        <p>
          <label>
            Rounds and models by{" "}
            <select
              value={metric}
              onChange={(event) => this.setState({ metric: event.currentTarget.value as Metric })}
            >
              {(Object.keys(METRIC_LABELS) as Metric[]).map((one) => (
                <option key={one} value={one}>
                  {METRIC_LABELS[one]}
                </option>
              ))}
            </select>
          </label>
        </p>
        <Bars
          title={`Rounds, by ${METRIC_LABELS[metric]}`}
          rows={rounds.map((sum) => [sum.name, metricValue(sum, metric), tokenCost(sum)])}
        />
        <Bars
          title={`Models, by ${METRIC_LABELS[metric]}`}
          rows={models.map((sum) => [sum.name, metricValue(sum, metric), tokenCost(sum)])}
        />
      </article>
    );
  }
}

function Figure({ value, noun }: { value: string; noun: string }): JSX.Element {
  return (
    <span>
      <b>{value}</b> <span class="nb-muted">{noun}</span>
    </span>
  );
}

/** Rows that are rendered at first, and with each click on more. */
const ROWS_PER_STEP = 50;

interface BarsProps {
  title: string;
  rows: [name: string, value: number, told: string][];
}

/** Rows of a name, a bar and its value as text. */
class Bars extends Component<BarsProps, { limit: number }> {
  override state = { limit: ROWS_PER_STEP };

  render(): JSX.Element | null {
    const { title, rows } = this.props;
    const { limit } = this.state;
    if (rows.length === 0) return null;
    const largest = rows.reduce((top, [, value]) => Math.max(top, value), 0);
    const hiddenCount = rows.length - limit;
    return (
      <>
        {renderTable(title, rows.slice(0, limit), largest)}
        {hiddenCount > 0 && (
          <button
            type="button"
            class="nb-text-button"
            onClick={() => this.setState({ limit: limit + ROWS_PER_STEP })}
          >
            Show {Math.min(ROWS_PER_STEP, hiddenCount)} of the other {hiddenCount.toLocaleString("en")}
          </button>
        )}
      </>
    );
  }
}

function renderTable(title: string, rows: BarsProps["rows"], largest: number): JSX.Element {
  return (
    <table class="nb-x-totals">
      <caption>{title}</caption>
      <tbody>
        {rows.map(([name, value, text]) => (
          <tr key={name}>
            <th scope="row">{singleLine(name, 48)}</th>
            <td class="nb-x-total-bar">
              <svg aria-hidden="true" height="14">
                <rect class="nb-x-track" width="100%" height="14" rx="2" />
                <rect
                  class="nb-x-value"
                  width={largest ? `${(value / largest) * 100}%` : 0}
                  height="14"
                  rx="2"
                />
              </svg>
            </td>
            <td class="nb-x-bar-text">{text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function metricValue(sum: TotalRow, metric: Metric): number {
  if (metric === "seconds") return sum.seconds;
  return metric === "cost" ? (sum.cost ?? 0) : sum.input_tokens + sum.output_tokens;
}

function callCounts(sum: TotalRow): string {
  const failed = sum.failed ? `, ${sum.failed.toLocaleString("en")} not done` : "";
  return `${plural(sum.count, "call")}${failed}, ${formatSeconds(sum.seconds)}`;
}

function tokenCost(sum: TotalRow): string {
  const cost = formatCost(sum) && `, ${formatCost(sum)}`;
  return `${sum.input_tokens.toLocaleString("en")} in, ${sum.output_tokens.toLocaleString("en")} out${cost}, ${formatSeconds(sum.seconds)}`;
}

function countTotal(sums: TotalRow[], what: "count"): number {
  return sums.reduce((sum, one) => sum + one[what], 0);
}
