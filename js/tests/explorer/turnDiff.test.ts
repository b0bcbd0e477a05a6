import { expect, test } from "vitest";
import { axisTicks, lanes, waitTimes } from "../../src/explorer/chart";
import type { Span } from "../../src/explorer/protocol";
import { byRound, replayTo } from "../../src/explorer/replay";
import { alignLists, diffWords } from "../../src/explorer/turnDiff";
import { RECORDED } from "./kernel";

test("two texts are compared word by word, and as wholes if they are long", () => {
  expect(diffWords("", "")).toEqual([]);
  expect(diffWords("same", "same")).toEqual([{ text: "same", side: "both" }]);
  expect(diffWords("it costs 10 now", "it costs 12 now").filter(({ side }) => side !== "both")).toEqual([
    { text: "10", side: "left" },
    { text: "12", side: "right" },
  ]);
  expect(diffWords("a ".repeat(5000), "b ".repeat(5000))).toHaveLength(2);
});

test("two lists are aligned by equal items, and the items between are paired in order", () => {
  const pairs = alignLists(["price", "order", "save"], ["price", "mail", "order", "save"], (name) => name);
  expect(pairs).toEqual([
    { left: "price", right: "price" },
    { left: null, right: "mail" },
    { left: "order", right: "order" },
    { left: "save", right: "save" },
  ]);
  expect(alignLists(["a"], ["b"], String)).toEqual([{ left: "a", right: "b" }]);
});

test("a turn folded step by step ends as the turn folded at once", () => {
  for (const detail of RECORDED.turns) {
    const sizes = detail.steps.map((_, upto) => replayTo(detail, upto).document.blocks.length);
    const whole = replayTo(detail, detail.steps.length);

    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(sizes[0]).toBe(0);
    expect(whole.document.head.seconds).not.toBeNull();
    expect(byRound(whole).map(({ round }) => round)).toEqual([1, 2]);
  }
});

function span(who: Span["who"], start: number, end: number): Span {
  return { who, label: who, round: 1, call_id: `${who}${start}`, start, end, state: "" };
}

test("calls in parallel lie in lanes beside each other, and count once", () => {
  const spans = [
    span("model", 0, 2),
    span("tool", 2, 5),
    span("tool", 3, 4),
    span("tool", 5, 6),
    span("model", 6, 7),
  ];

  expect(lanes(spans).map(({ who, spans }) => [who, spans.length])).toEqual([
    ["model", 2],
    ["tool", 2],
    ["tool", 1],
  ]);
  expect(waitTimes(spans)).toEqual({ model: 3, person: 0, tool: 4 });
});

test("hundreds of calls at once need no more lanes than can be drawn", () => {
  const many = Array.from({ length: 300 }, (_, n) => span("tool", n / 1000, 10));

  expect(lanes(many).length).toBeLessThanOrEqual(6);
  expect(lanes(many).reduce((sum, lane) => sum + lane.spans.length, 0)).toBe(300);
});

test.each([0.003, 0.9, 7.6, 61, 4000])("an axis of %d s has a few round marks within it", (end) => {
  const marks = axisTicks(end);
  expect(marks[0]).toBe(0);
  expect(marks.length).toBeGreaterThan(2);
  expect(marks.length).toBeLessThan(8);
  expect(marks.at(-1)).toBeLessThanOrEqual(end * 1.001);
});
