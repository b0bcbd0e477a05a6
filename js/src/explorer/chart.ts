/** The geometry of the timeline: spans in lanes, times of waiting, ticks of the axis. */
import type { Span } from "./protocol";

/** Lanes of tools that run beside each other; what is more shares the last one. */
const MAX_LANES = 6;

/** Spans that lie in one line without touching. */
export interface Lane {
  who: Span["who"];
  spans: Span[];
}

/** Spans in as few lanes as they need: the model's, the person's, and the tools'. */
export function lanes(spans: readonly Span[]): Lane[] {
  return (["model", "person", "tool"] as const).flatMap((who) =>
    packLanes(spans.filter((span) => span.who === who)).map((one) => ({ who, spans: one })),
  );
}

function packLanes(spans: readonly Span[]): Span[][] {
  const lanes: Span[][] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const free = lanes.find((lane) => (lane.at(-1)?.end ?? 0) <= span.start);
    if (free) free.push(span);
    else if (lanes.length < MAX_LANES) lanes.push([span]);
    else lanes.at(-1)?.push(span);
  }
  return lanes;
}

/** How long each was waited for; what overlaps counts once. */
export function waitTimes(spans: readonly Span[]): Record<Span["who"], number> {
  const sums = { model: 0, person: 0, tool: 0 };
  const covered = { model: 0, person: 0, tool: 0 };
  for (const { who, start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    sums[who] += Math.max(0, end - Math.max(covered[who], start));
    covered[who] = Math.max(covered[who], end);
  }
  return sums;
}

/** Round marks on an axis from 0 to `end`, five or so. */
export function axisTicks(end: number): number[] {
  if (!(end > 0)) return [0];
  const roughStep = end / 5;
  const power = 10 ** Math.floor(Math.log10(roughStep));
  const step = ([1, 2, 5, 10].find((one) => one * power >= roughStep) ?? 10) * power;
  const marks: number[] = [];
  for (let at = 0; at * step <= end * 1.0001; at++) marks.push(at * step);
  return marks;
}
