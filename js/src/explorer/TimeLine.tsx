import { Component, createRef, type JSX } from "preact";
import { oneLine, seconds } from "../text/format";
import { type Lane, lanes, ticks, waits } from "./chart";
import type { Span, Who } from "./protocol";

/** Pixels that a lane is high. */
const LANE = 22;

/** Pixels that a bar needs for each character of its label, and around it. */
const LETTER = 6.4;
const AROUND = 10;

/** Pixels that the chart is taken to be wide until it was measured. */
const WIDE = 400;

const NAMES: Record<Who, string> = { model: "Model", person: "You", tool: "Tools" };

interface TimeLineProps {
  spans: Span[];
  /** The moment that the replay has come to, in seconds; null for the end. */
  at: number | null;
  pick: (call: string) => void;
}

/** Who waited for whom: the stretches of a turn as bars, one lane for each that was waited for at a time. */
export class TimeLine extends Component<TimeLineProps, { width: number }> {
  override state = { width: WIDE };
  #el = createRef<SVGSVGElement>();
  #size: ResizeObserver | undefined;

  override componentDidMount(): void {
    if (!this.#el.current || typeof ResizeObserver === "undefined") return;
    this.#size = new ResizeObserver(
      ([entry]) => entry && this.setState({ width: entry.contentRect.width || WIDE }),
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
    const height = rows.length * LANE;
    const summary = summed(spans);
    return (
      <figure class="nb-x-time">
        <Names rows={rows} />
        <svg
          class="nb-x-chart"
          role="img"
          aria-label={`Waited for: ${summary}`}
          height={height + 18}
          ref={this.#el}
        >
          <Hatch />
          {ticks(end).map((tick) => (
            <Tick key={tick} tick={tick} end={end} height={height} />
          ))}
          {rows.map((lane, n) =>
            lane.spans.map((span) => (
              <Bar key={key(span, lane)} span={span} n={n} end={end} width={this.state.width} pick={pick} />
            )),
          )}
          {at !== null && (
            <line class="nb-x-now" x1={percent(at / end)} x2={percent(at / end)} y1={0} y2={height} />
          )}
        </svg>
        <figcaption class="nb-quiet">Waited for: {summary}</figcaption>
      </figure>
    );
  }
}

/** How long each was waited for, in words. */
function summed(spans: Span[]): string {
  const waited = waits(spans);
  const told = (Object.keys(NAMES) as Who[]).filter((who) => waited[who] > 0);
  return told.map((who) => `${NAMES[who]} ${seconds(waited[who])}`).join(", ");
}

/** Whose lanes these are, each named once. */
function Names({ rows }: { rows: Lane[] }): JSX.Element {
  return (
    <div class="nb-x-lanes" aria-hidden="true" style={{ height: `${rows.length * LANE}px` }}>
      {rows.map((lane, n) => (
        <span key={n} style={{ top: `${n * LANE}px` }}>
          {rows[n - 1]?.who === lane.who ? "" : NAMES[lane.who]}
        </span>
      ))}
    </div>
  );
}

/** The pattern of a person's bars: they are told from the others without colours. */
function Hatch(): JSX.Element {
  return (
    <defs>
      <pattern
        id="nb-x-hatch"
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
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
        {axis(tick)}
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
  const took = seconds(span.end - span.start);
  const label = oneLine(span.label, 40);
  const fits = share * width > label.length * LETTER + AROUND;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a short cut for the pointer; the calls stand below, with keys
    <g class={`nb-x-bar-of nb-x-of-${span.who}`} onClick={() => span.call_id && pick(span.call_id)}>
      <title>{[label, NAMES[span.who], took, oneLine(span.state, 80)].filter(Boolean).join(" · ")}</title>
      <rect
        x={percent(x)}
        y={n * LANE + 2}
        style={{ width: `max(2px, ${percent(share)})` }}
        height={LANE - 5}
        rx={2}
      />
      {fits && (
        <text x={percent(x)} dx={6} y={n * LANE + 15}>
          {label}
        </text>
      )}
    </g>
  );
}

function key(span: Span, lane: Lane): string {
  return `${lane.who} ${span.call_id} ${span.round} ${span.start}`;
}

function percent(share: number): string {
  return `${Math.min(Math.max(share, 0), 1) * 100}%`;
}

function axis(tick: number): string {
  if (tick === 0) return "0";
  return tick >= 1
    ? `${Number(tick.toFixed(1))} s`
    : `${Number((tick * 1000).toFixed(tick < 0.01 ? 1 : 0))} ms`;
}
