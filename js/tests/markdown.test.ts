import { h, render } from "preact";
import { expect, test } from "vitest";
import { growingMarkdown } from "../src/markdown";

/** What a text reads as when it comes in these pieces. */
function rendered(...pieces: string[]): string {
  const read = growingMarkdown();
  const el = document.createElement("div");
  let text = "";
  for (const piece of pieces) {
    text += piece;
    render(h("div", null, read(text)), el);
  }
  return el.innerHTML;
}

const TEXTS = [
  "# Title\n\nSome *prose* with `code`, **bold** and [a link](https://a.example/b).\n\nMore.\n",
  "one\ntwo\n\n- a\n- b\n\n  still b\n\n- c\n\nafter\n",
  "1. a\n   ```py\n   x = 1\n\n   y = 2\n   ```\n2. b\n\nend",
  "Here it is:\n```python\ndef f():\n    return 1\n\n\n# done\n```\nThat was it.\n\nBye.",
  "~~~\nopen fence with ``` inside\n\nand a blank line",
  "````md\n```py\nx\n```\n````\n\nafter",
  "a | b\n--|--\n1 | 2\n3 | 4\n\ntext after the table\n\n| x |\n|---|\n| y |\n",
  "foo\na | b\n- item\n\nbar\nbaz\n---\n\nqux\n===\n",
  "> quote\nlazy\n\n> another\n> - list\n\ntext",
  "    indented\n\n    still code\n\nprose\n\n\tcode again\n",
  "- [ ] todo\n- [x] done\n\n* * *\n\n+ plus\n",
  "para\n\n\n\n<div>\n\nhtml is text\n\n</div>\n\n[x]: https://evil.example\n\n[x]\n",
  "text with trailing spaces  \nbreak and \\\nanother\n\n&amp; &lt;b&gt; &copy; &#36;5 $x$ $$y$$\n",
  "```\n\n```\n\n```\nnever closed\n",
  "- a\n\n\n- b\n\n      code in b?\n\ntail\n",
  "1) x\n2) y\n\n10. z\n\n* a\n+ b\n- c\n",
  `${"word ".repeat(200)}\n\n${"- item\n".repeat(60)}\n\`\`\`\n${"line\n".repeat(80)}\`\`\`\nend`,
];

/** Numbers that look random and are the same in every run: https://en.wikipedia.org/wiki/Linear_congruential_generator */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function cut(text: string, next: (below: number) => number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + next(24);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

test.each(TEXTS)("%j reads the same in pieces as whole", (text) => {
  const whole = rendered(text);
  const next = numbers(7);

  for (let round = 0; round < 25; round++) expect(rendered(...cut(text, next))).toBe(whole);
  expect(rendered(...text)).toBe(whole);
});

test("random mixtures read the same in pieces as whole", () => {
  const next = numbers(11);
  const parts = TEXTS.flatMap((text) => text.split(/(?<=\n)/)).filter((line) => line.length < 200);
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: 12 }, () => parts[next(parts.length)]).join("");
    expect(rendered(...cut(text, next)), JSON.stringify(text)).toBe(rendered(text));
  }
});

test("a settled block is never touched again", () => {
  const read = growingMarkdown();
  const el = document.createElement("div");
  const show = (text: string): void => render(h("div", null, read(text)), el);
  show("first\n\nsecond\n\nthi");
  const first = el.querySelector("p");
  const text = first?.firstChild;
  const changes: MutationRecord[] = [];
  const watch = new MutationObserver((seen) => changes.push(...seen));
  if (first) watch.observe(first, { childList: true, characterData: true, subtree: true, attributes: true });

  show("first\n\nsecond\n\nthird\n\nfourth");

  changes.push(...watch.takeRecords());
  expect(el.querySelector("p")).toBe(first);
  expect(first?.firstChild).toBe(text);
  expect(changes).toEqual([]);
});

test("an open code fence only grows, in the same text node", () => {
  const read = growingMarkdown();
  const el = document.createElement("div");
  const show = (text: string): void => render(h("div", null, read(text)), el);
  show("Look:\n```py\na = 1\n");
  show("Look:\n```py\na = 1\nb");
  const node = el.querySelector("code")?.firstChild;

  show("Look:\n```py\na = 1\nb = 2\nc = 3");

  expect(el.querySelector("code")?.firstChild).toBe(node);
  expect(node?.textContent).toBe("a = 1\nb = 2\nc = 3");
});

test("a reply that is replaced is read anew", () => {
  expect(rendered("Dear [NAME]\n\nx").length).toBeGreaterThan(0);
  const read = growingMarkdown();
  const el = document.createElement("div");
  render(h("div", null, read("Dear [NAME]\n\nHello\n\nx")), el);

  render(h("div", null, read("Dear Jo\n\nHello\n\nx")), el);

  expect(el.textContent).toBe("Dear JoHellox");
});

test("a long reply that comes in two thousand pieces is read in time", () => {
  const read = growingMarkdown();
  let text = "";
  const began = performance.now();
  for (let count = 0; count < 2000; count++) {
    text += `${"word ".repeat(40)}\n\n`;
    read(text);
  }

  expect(read(text)).toHaveLength(4000);
  expect(performance.now() - began).toBeLessThan(5000); // all of it anew each time: more than a minute
});

test.each([
  [
    "[docs](https://a.example/b)",
    '<a href="https://a.example/b" title="https://a.example/b" target="_blank" rel="noopener noreferrer">docs</a><span class="nb-quiet"> (a.example)</span>',
  ],
  ["https://a.example/b", ">https://a.example/b</a></p>"],
  ["![chart](https://a.example/c.png)", ">image: chart</a>"],
  ["[x](javascript:alert(1))", "<p>x</p>"],
  ["[x](/lab/tree/x)", "<p>x</p>"],
  ["costs $5 and $6, $df", "<p>costs $5 and $6, $df</p>"],
  ["<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"],
  ["# One", "<h3>One</h3>"],
  ["- [x] done", "<li>☑ done</li>"],
  ["&lt;b&gt; &copy; &#36;", "<p>&lt;b&gt; &amp;copy; $</p>"],
])("%j is shown as it is meant", (text, html) => {
  expect(rendered(text)).toContain(html);
});

test.each([">".repeat(5000), "- ".repeat(1500), "[".repeat(3000), "*a".repeat(3000), "`".repeat(3001)])(
  "markup that no person writes is shown in time",
  (text) => {
    const began = performance.now();

    expect(rendered(text).length).toBeGreaterThan(0);
    expect(performance.now() - began).toBeLessThan(3000);
  },
);
