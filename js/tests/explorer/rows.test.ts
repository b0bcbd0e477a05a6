import { expect, test } from "vitest";
import {
  ancestors,
  countTurnsWithOmittedTools,
  filterOptions,
  findBranchEnd,
  findTurn,
  isFiltered,
  MAX_TOOL_CHOICES,
  matchesFilter,
  visibleRows,
} from "../../src/explorer/listRows";
import type { Row, Version } from "../../src/explorer/protocol";
import { toolNames } from "../../src/explorer/TurnList";
import { RECORDED, turnId } from "./kernel";

const { index } = RECORDED;
const NOTHING = { text: "", status: "", tool: "" };
const none: ReadonlySet<string> = new Set();

test("all rows are listed where nothing is filtered and nothing folded", () => {
  expect(visibleRows(index, none, NOTHING, null)).toHaveLength(index.rows.length);
  expect(isFiltered(NOTHING)).toBe(false);
});

test("a folded branch hides exactly its own rows, and says how many", () => {
  const at = index.rows.findIndex((row, n) => row.branches && findBranchEnd(index.rows, n) - n > 1);
  const head = index.rows[at];
  const hidden = findBranchEnd(index.rows, at) - at - 1;

  const listed = visibleRows(index, new Set([head?.node_id ?? ""]), NOTHING, null);

  expect(listed).toHaveLength(index.rows.length - hidden);
  expect(listed.find(({ row }) => row === head)?.hiddenRows).toBe(hidden);
  expect(index.rows[at + hidden + 1]?.depth ?? 0).toBeLessThanOrEqual(head?.depth ?? 0);
});

test("words are looked for in the rows until the kernel has searched, then in what it found", () => {
  const filter = { ...NOTHING, text: "question 12:" };
  const version = index.rows[findTurn(index, turnId(12))?.at ?? -1]?.versions[0];
  if (!version) throw new Error("not recorded");

  expect(matchesFilter(version, filter, null)).toBe(true);
  expect(matchesFilter(version, filter, { text: "question 12:", turns: new Map() })).toBe(false);
  expect(matchesFilter(version, filter, { text: "something typed before", turns: new Map() })).toBe(true);
});

test("rows are filtered by status and by tool", () => {
  const failed = visibleRows(index, none, { ...NOTHING, status: "error" }, null);
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.every(({ row }) => row.versions.some((one) => one.status === "error"))).toBe(true);
  expect(visibleRows(index, none, { ...NOTHING, tool: "nobody" }, null)).toEqual([]);
  expect(filterOptions(index)).toEqual({
    statuses: ["completed", "error"],
    tools: ["order", "price"],
    omittedTools: 0,
  });
});

test("tools that the filter does not offer, and turns that it may miss, are counted", () => {
  const row = index.rows[0] as Row;
  const version = row.versions[0] as Version;
  const tools = Array.from({ length: MAX_TOOL_CHOICES + 3 }, (_, number) => `tool ${number}`);
  const many = { rows: [{ ...row, versions: [{ ...version, tools, more_tools: 2 }] }], left_out: 0 };

  expect(filterOptions(many).tools).toHaveLength(MAX_TOOL_CHOICES);
  expect(filterOptions(many).omittedTools).toBe(3);
  expect(countTurnsWithOmittedTools(many)).toBe(1);
  expect(countTurnsWithOmittedTools(index)).toBe(0);
});

test("a turn is found among the versions of its place, and the path to it begins at a root", () => {
  const place = findTurn(index, turnId(6));
  expect(place?.version).toBe(1);
  const path = ancestors(index, place?.at ?? 0);
  expect(index.rows[path[0] ?? -1]?.parent).toBe(-1);
  expect(path.at(-1)).toBe(place?.at);
  expect(findTurn(index, "turn_nobody")).toBeNull();
});

test("the names of many tools are listed with how many more there are", () => {
  expect(toolNames({ tools: ["price", "order"] })).toBe("price, order");
  expect(toolNames({ tools: ["price"], more_tools: 3 })).toBe("price and 3 more");
});
