import { Component, createRef, type JSX } from "preact";
import { formatSeconds, singleLine } from "../text/format";
import { axisTicks, type Lane, lanes, waitTimes } from "./chart";
import type { Party, Span } from "./protocol";

/** Pixels that a lane is high. */
const LANE_HEIGHT = 22;

/** Pixels that a bar needs for each character of its label, and around it. */
const CHARACTER_WIDTH = 6.4;
const LABEL_PADDING = 10;

/** The assumed width of the chart in pixels until it is measured. */
const DEFAULT_WIDTH = 400;

const PARTY_LABELS: Record<Party, string> = { model: "Model", person: "You", tool: "Tools" };

interface TimeLineProps {
  spans: Span[];
  /** The current time of the replay, in seconds; null for the end. */
  at: number | null;
  pick: (call: string) => void;
}

/** The timeline of a turn: its spans as bars, in lanes of spans that overlap. */
export class TimeLine extends Component<TimeLineProps, { width: number }> {
  override state = { width: DEFAULT_WIDTH };
  #el = createRef<SVGSVGElement>();
  #size: ResizeObserver | undefined;
  /** The id of this chart's pattern: every explorer of a page has a script of its own, and none counts the others. */
  #hatchId = `nb-x-hatch-${Math.random().toString(36).slice(2)}`;

  override componentDidMount(): void {
    if (!this.#el.current || typeof ResizeObserver === "undefined") return;
    this.#size = new ResizeObserver(
      ([entry]) => entry && this.setState({ width: entry.contentRect.width || DEFAULT_WIDTH }),
    );
    this.#size.observe(this.#el.current);
  }

  override componentWillUnmount(): void {
    this.#size?.disconnect();
  }

  render(): JSX.Element | null {
    const { spans, at, pick } = this.props;
    const end = Math.max(...spans.map((span) => span.end), 0);
    if (end === 0) return null;
    const rows = lanes(spans);
    const height = rows.length * LANE_HEIGHT;
    const summary = waitSummary(spans);
    return (
      <figure class="nb-x-timeline">
        <LaneLabels rows={rows} />
        <svg
          class="nb-x-chart"
          role="img"
          aria-label={`Waiting time: ${summary}`}
          height={height + 18}
          style={{ "--nb-x-hatch": `url("#${this.#hatchId}")` }}
          ref={this.#el}
        >
          <HatchPattern id={this.#hatchId} />
          {axisTicks(end).map((tick) => (
            <Tick key={tick} tick={tick} end={end} height={height} />
          ))}
          {rows.map((lane, n) =>
            lane.spans.map((span) => (
              <Bar
                key={spanKey(span, lane)}
                span={span}
                n={n}
                end={end}
                width={this.state.width}
                pick={pick}
              />
            )),
          )}
          {at !== null && (
            <line class="nb-x-now" x1={percent(at / end)} x2={percent(at / end)} y1={0} y2={height} />
          )}
        </svg>
        <figcaption class="nb-muted">Waiting time: {summary}</figcaption>
      </figure>
    );
  }
}

/** How long each was waited for, in words. */
function waitSummary(spans: Span[]): string {
  const waits = waitTimes(spans);
  const parties = (Object.keys(PARTY_LABELS) as Party[]).filter((who) => waits[who] > 0);
  return parties.map((who) => `${PARTY_LABELS[who]} ${formatSeconds(waits[who])}`).join(", ");
}

/** Whose lanes these are, each named once. */
function LaneLabels({ rows }: { rows: Lane[] }): JSX.Element {
  return (
    <div class="nb-x-lanes" aria-hidden="true" style={{ height: `${rows.length * LANE_HEIGHT}px` }}>
      {rows.map((lane, n) => (
        <span key={n} style={{ top: `${n * LANE_HEIGHT}px` }}>
          {rows[n - 1]?.who === lane.who ? "" : PARTY_LABELS[lane.who]}
        </span>
      ))}
    </div>
  );
}

/** The pattern of a person's bars: they differ from the others not only by color. */
function HatchPattern({ id }: { id: string }): JSX.Element {
  return (
    <defs>
      <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="6" height="6" class="nb-x-hatch-ground" />
        <rect width="2.5" height="6" class="nb-x-hatch-line" />
      </pattern>
    </defs>
  );
}

function Tick({ tick, end, height }: { tick: number; end: number; height: number }): JSX.Element {
  const x = percent(tick / end);
  return (
    <g>
      <line class="nb-x-grid" x1={x} x2={x} y1={0} y2={height} />
      <text
        class="nb-x-tick"
        x={x}
        y={height + 14}
        text-anchor={tick === 0 ? "start" : tick / end > 0.95 ? "end" : "middle"}
      >
        {tickLabel(tick)}
      </text>
    </g>
  );
}

interface BarProps {
  span: Span;
  n: number;
  end: number;
  width: number;
  pick: (call: string) => void;
}

function Bar({ span, n, end, width, pick }: BarProps): JSX.Element {
  const [x, share] = [span.start / end, (span.end - span.start) / end];
  const duration = formatSeconds(span.end - span.start);
  const label = singleLine(span.label, 40);
  const fits = share * width > label.length * CHARACTER_WIDTH + LABEL_PADDING;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a shortcut for the pointer; the calls below can be reached by keys
    <g class={`nb-x-span nb-x-span-${span.who}`} onClick={() => span.call_id && pick(span.call_id)}>
      <title>
        {[label, PARTY_LABELS[span.who], duration, singleLine(span.state, 80)].filter(Boolean).join(" · ")}
      </title>
      <rect
        x={percent(x)}
        y={n * LANE_HEIGHT + 2}
        style={{ width: `max(2px, ${percent(share)})` }}
        height={LANE_HEIGHT - 5}
        rx={2}
      />
      {fits && (
        <text x={percent(x)} dx={6} y={n * LANE_HEIGHT + 15}>
          {label}
        </text>
      )}
    </g>
  );
}

function spanKey(span: Span, lane: Lane): string {
  return `${lane.who} ${span.call_id} ${span.round} ${span.start}`;
}

function percent(share: number): string {
  return `${Math.min(Math.max(share, 0), 1) * 100}%`;
}

function tickLabel(tick: number): string {
  if (tick === 0) return "0";
  return tick >= 1
    ? `${Number(tick.toFixed(1))} s`
    : `${Number((tick * 1000).toFixed(tick < 0.01 ? 1 : 0))} ms`;
}
