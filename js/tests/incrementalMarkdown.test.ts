import { h, render } from "preact";
import { expect, test } from "vitest";
import { IncrementalMarkdown } from "../src/rich/markdown/incremental";
import { DOCUMENTS } from "./documents";

/** What can be read at every step while a text comes character by character, and at the end. */
function steps(text: string): string[] {
  const markdown = new IncrementalMarkdown();
  const el = document.createElement("div");
  const read = (part: string, open: boolean): string => {
    render(h("div", null, markdown.read(part, open)), el);
    return (el.textContent ?? "").replace(/\s+|Copy/g, "");
  };
  return [...Array.from(text, (_, at) => read(text.slice(at - 1, at), true)), read(text.slice(-1), false)];
}

const PROSE = [
  "Some *emphasis*, **strong words** and ***both***, `code with *stars*`, ~~gone~~ and _under_.\n",
  "A [link with words](https://a.example/path?q=1) and more, [1] a citation, x[0] an index.\n",
  "## A heading with `code`\n\n- item **one**\n- item *two*\n  - nested `three`\n\n1. first\n2. second\n",
  "Before:\n\n| name | *value* |\n|:-----|------:|\n| a | **1** |\n| b | `2` |\n\nAfter.\n",
  "Run this:\n\n```python\nx = 1\n```\n\nand that\n***\nend\n",
  "2 * 3 * 4 and 2*3, snake_case_name and __init__, 5 > 4, #1, a - b\n",
  "> quoted *words*\n> and more\n\n- [x] done\n- [ ] not\n",
];

test.each(PROSE)("%j never shows anything while streaming that is removed later", (text) => {
  const seen = steps(text);
  const end = seen.at(-1) ?? "";

  for (const [at, shown] of seen.entries()) {
    expect(end.startsWith(shown), `after ${JSON.stringify(text.slice(0, at))}: ${shown}`).toBe(true);
  }
});

test.each(PROSE)("%j is shown with a delay of few characters", (text) => {
  const seen = steps(text);

  for (const [at, shown] of seen.entries()) {
    const written = text.slice(0, at).replace(/[\s*_`~#|:>-]|\]\([^)]*\)?|[\][]/g, "");
    expect(written.length - shown.length, JSON.stringify(text.slice(0, at))).toBeLessThan(40);
  }
});

test("every document is complete at its end, whatever was buffered", () => {
  for (const text of DOCUMENTS) {
    const seen = steps(text);
    expect(seen.at(-1)?.length).toBeGreaterThanOrEqual(seen.at(-2)?.length ?? 0);
  }
});
