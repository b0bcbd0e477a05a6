import { Component, type JSX } from "preact";
import { counted, oneLine, seconds } from "../text/format";
import type { Sum, Totals, Who } from "./protocol";

type Metric = "seconds" | "tokens" | "cost";

const METRICS: Record<Metric, string> = { seconds: "time", tokens: "tokens", cost: "cost" };
const NAMES: Record<Who, string> = { model: "the model", person: "you", tool: "tools" };

/** What the conversation took, as bars: by whom it waited for, by tool, by round and by model. */
export class Sums extends Component<{ totals: Totals | null }, { metric: Metric }> {
  override state: { metric: Metric } = { metric: "seconds" };

  render(): JSX.Element {
    const { totals } = this.props;
    if (!totals) return <p class="nb-quiet">Asking the kernel…</p>;
    const { metric } = this.state;
    const { all, tools, rounds, models, waited } = totals;
    return (
      <article aria-label="Totals">
        <p class="nb-x-figures">
          <Figure value={totals.turns.toLocaleString("en")} noun={totals.turns === 1 ? "turn" : "turns"} />
          <Figure value={all.count.toLocaleString("en")} noun={all.count === 1 ? "round" : "rounds"} />
          <Figure value={total(tools, "count").toLocaleString("en")} noun="calls" />
          <Figure value={(all.input_tokens + all.output_tokens).toLocaleString("en")} noun="tokens" />
          {all.cost !== null && <Figure value={`$${all.cost.toFixed(4)}`} noun="spent" />}
          <Figure value={seconds(all.seconds)} noun="of the model" />
        </p>
        <Bars
          title="Waited for"
          rows={(Object.keys(NAMES) as Who[]).map((who) => [NAMES[who], waited[who], seconds(waited[who])])}
        />
        <Bars title="Tools, by time" rows={tools.map((sum) => [sum.name, sum.seconds, called(sum)])} />
        <p>
          <label>
            Rounds and models by{" "}
            <select
              value={metric}
              onChange={(event) => this.setState({ metric: event.currentTarget.value as Metric })}
            >
              {(Object.keys(METRICS) as Metric[]).map((one) => (
                <option key={one} value={one}>
                  {METRICS[one]}
                </option>
              ))}
            </select>
          </label>
        </p>
        <Bars
          title={`Rounds, by ${METRICS[metric]}`}
          rows={rounds.map((sum) => [sum.name, value(sum, metric), spent(sum)])}
        />
        <Bars
          title={`Models, by ${METRICS[metric]}`}
          rows={models.map((sum) => [sum.name, value(sum, metric), spent(sum)])}
        />
      </article>
    );
  }
}

function Figure({ value, noun }: { value: string; noun: string }): JSX.Element {
  return (
    <span>
      <b>{value}</b> <span class="nb-quiet">{noun}</span>
    </span>
  );
}

/** Rows that are drawn at first, and with each wish for more. */
const STEP = 50;

interface BarsProps {
  title: string;
  rows: [name: string, value: number, told: string][];
}

/** Rows of a name, a bar and what it says in words. */
class Bars extends Component<BarsProps, { limit: number }> {
  override state = { limit: STEP };

  render(): JSX.Element | null {
    const { title, rows } = this.props;
    const { limit } = this.state;
    if (rows.length === 0) return null;
    const most = rows.reduce((top, [, value]) => Math.max(top, value), 0);
    const left = rows.length - limit;
    return (
      <>
        {table(title, rows.slice(0, limit), most)}
        {left > 0 && (
          <button type="button" class="nb-plain" onClick={() => this.setState({ limit: limit + STEP })}>
            Show {Math.min(STEP, left)} of the other {left.toLocaleString("en")}
          </button>
        )}
      </>
    );
  }
}

function table(title: string, rows: BarsProps["rows"], most: number): JSX.Element {
  return (
    <table class="nb-x-sums">
      <caption>{title}</caption>
      <tbody>
        {rows.map(([name, value, told]) => (
          <tr key={name}>
            <th scope="row">{oneLine(name, 48)}</th>
            <td class="nb-x-sum">
              <svg aria-hidden="true" height="14">
                <rect class="nb-x-track" width="100%" height="14" rx="2" />
                <rect class="nb-x-value" width={most ? `${(value / most) * 100}%` : 0} height="14" rx="2" />
              </svg>
            </td>
            <td class="nb-x-told">{told}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function value(sum: Sum, metric: Metric): number {
  if (metric === "seconds") return sum.seconds;
  return metric === "cost" ? (sum.cost ?? 0) : sum.input_tokens + sum.output_tokens;
}

function called(sum: Sum): string {
  const failed = sum.failed ? `, ${sum.failed.toLocaleString("en")} not done` : "";
  return `${counted(sum.count, "call")}${failed}, ${seconds(sum.seconds)}`;
}

function spent(sum: Sum): string {
  const cost = sum.cost === null ? "" : `, $${sum.cost.toFixed(4)}`;
  return `${sum.input_tokens.toLocaleString("en")} in, ${sum.output_tokens.toLocaleString("en")} out${cost}, ${seconds(sum.seconds)}`;
}

function total(sums: Sum[], what: "count"): number {
  return sums.reduce((sum, one) => sum + one[what], 0);
}
