import { h, render } from "preact";
import { expect, test } from "vitest";
import { IncrementalMarkdown } from "../src/rich/markdown/incremental";
import { lex, type MathToken } from "../src/rich/markdown/lexer";
import { DOCUMENTS } from "./documents";
import formulas from "./formulas.json";
import { drawn, Kernel, shown, start } from "./page";

/** What a text reads as when it comes in these pieces, and is then whole. */
function rendered(pieces: Iterable<string>, limit?: number): string {
  const markdown = new IncrementalMarkdown(limit);
  const el = document.createElement("div");
  for (const piece of pieces) render(h("div", null, markdown.read(piece, true)), el);
  render(h("div", null, markdown.read("", false)), el);
  return el.innerHTML;
}

/** The same, read in one go. */
function whole(text: string, limit?: number): string {
  const el = document.createElement("div");
  render(h("div", null, new IncrementalMarkdown(limit).read(text, false)), el);
  return el.innerHTML;
}

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

test.each(DOCUMENTS)(
  "%j reads the same at every cut, and in pieces of any size, as whole",
  (text) => {
    const expected = whole(text);
    const next = numbers(7);

    for (let at = 0; at < text.length; at++) {
      expect(rendered([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toBe(expected);
    }
    for (let round = 0; round < 10; round++) expect(rendered(cut(text, next))).toBe(expected);
    expect(rendered(text)).toBe(expected);
  },
  20_000,
);

test("random mixtures read the same in pieces as whole", () => {
  const next = numbers(11);
  const parts = DOCUMENTS.flatMap((text) => text.split(/(?<=\n)/)).filter((line) => line.length < 200);
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: 12 }, () => parts[next(parts.length)]).join("");
    expect(rendered(cut(text, next)), JSON.stringify(text)).toBe(whole(text));
  }
}, 20_000);

test.each(["- item\n", "7. item\n", "| a | b |\n", "- a\n\n  b\n"])(
  "five hundred times %j read the same in pieces as whole",
  (line) => {
    const head = line.startsWith("|") ? "| x | y |\n|--|:-:|\n" : "before\n\n";
    const text = `${head}${line.repeat(500)}\nafter *it*\n`;
    const next = numbers(5);

    expect(rendered(cut(text, next))).toBe(whole(text));
  },
);

test("blocks that are too long to parse are shown unformatted, streamed or whole", () => {
  const long = "word *em* ".repeat(30);
  const next = numbers(3);
  for (const text of [
    `${long}\n\n*then*`,
    `*first*\n\n> ${long}\n\nthen`,
    `- *a*\n- ${long}\n- c\n\n*then*\n`,
    long,
  ]) {
    for (let round = 0; round < 20; round++) expect(rendered(cut(text, next), 100)).toBe(whole(text, 100));
    expect(whole(text, 100)).toContain("word *em* word *em*");
  }
});

test("a settled block is never touched again", () => {
  const markdown = new IncrementalMarkdown();
  const el = document.createElement("div");
  const show = (news: string): void => render(h("div", null, markdown.read(news, true)), el);
  show("first\n\nsecond\n\nthi");
  const first = el.querySelector("p");
  const text = first?.firstChild;
  const changes: MutationRecord[] = [];
  const watch = new MutationObserver((seen) => changes.push(...seen));
  if (first) watch.observe(first, { childList: true, characterData: true, subtree: true, attributes: true });

  show("rd\n\nfourth");

  changes.push(...watch.takeRecords());
  expect(el.querySelector("p")).toBe(first);
  expect(first?.firstChild).toBe(text);
  expect(changes).toEqual([]);
});

test("an open code fence only grows, in the same text node", () => {
  const markdown = new IncrementalMarkdown();
  const el = document.createElement("div");
  const show = (news: string): void => render(h("div", null, markdown.read(news, true)), el);
  show("Look:\n```\na = 1\n");
  show("b");
  const node = el.querySelector("code .nb-lines .nb-lines")?.firstChild;

  show(" = 2\nc = 3");

  expect(el.querySelector("code .nb-lines .nb-lines")?.firstChild).toBe(node);
  expect(node?.textContent).toBe("a = 1\nb = 2\nc = 3");
});

test("a reply that is replaced is parsed again", async () => {
  const block = { id: "1", kind: "text", text: "Dear [NA", refusal: false, state: "open", more: {} } as const;
  const kernel = new Kernel({ ...start(), blocks: [block] });
  const page = shown(kernel);
  kernel.patches({ op: "extend", id: "1", field: "text", text: "ME]\n\nHello\n\nx" });
  await drawn();
  const before = page.el.querySelector(".nb-reply")?.textContent;

  kernel.patches({ op: "update", id: "1", set: { text: "Dear Jo\n\nHello\n\nx", state: "whole" } });
  await drawn();

  expect(before).toBe("Dear [NAME]Hellox");
  expect(page.el.querySelector(".nb-reply")?.textContent).toBe("Dear JoHellox");
  page.close();
});

test.each([
  ["paragraphs", (i: number) => `Paragraph ${i} with *some* words and \`code\`.\n\n`],
  ["list items", (i: number) => `- item ${i} with *some* words\n`],
  ["rows", (i: number) => (i ? `| ${i} | b |\n` : "| a | b |\n|---|---|\n")],
  ["lines of code", (i: number) => (i ? `x_${i} = ${i}\n` : "```python\n")],
  ["words", (i: number) => `word${i}${i % 200 ? " " : "\n\n"}`],
])(
  "the next %s cost the same, however many came before",
  (_what, piece) => {
    const markdown = new IncrementalMarkdown();
    const costs: number[] = [];
    let news = "";
    for (let i = 0; i < 6000; i++) {
      news += piece(i);
      if (i % 4) continue;
      const began = performance.now();
      markdown.read(news, true);
      news = "";
      costs.push(performance.now() - began);
    }
    const median = (part: number[]): number => part.sort((a, b) => a - b)[part.length >> 1] ?? 0;

    const [early, late] = [median(costs.slice(300, 600)), median(costs.slice(-300))];

    expect(late).toBeLessThan(early * 5 + 1); // all of it anew each time: ten times and more
  },
  20_000,
);

test.each([
  [
    "[docs](https://a.example/b)",
    '<a role="link" tabindex="0" title="https://a.example/b" target="_blank" rel="noopener noreferrer">docs</a><span class="nb-muted"> (a.example)</span>',
  ],
  ["https://a.example/b", ">https://a.example/b</a></p>"],
  ["![chart](https://a.example/c.png)", ">image: chart</a>"],
  ["[x](javascript:alert(1))", '<p dir="auto">x</p>'],
  ["[x](/lab/tree/x)", '<p dir="auto">x</p>'],
  ["costs $5 and $6, $df", '<p dir="auto">costs $5 and $6, $df</p>'],
  ["between $5 and 6$ or 5$-6$", '<p dir="auto">between $5 and 6$ or 5$-6$</p>'],
  [
    "$VAR_REF{{a}}/$VAR_REF{{b}} $PATH:$HOME US$5,US$6",
    '<p dir="auto">$VAR_REF{{a}}/$VAR_REF{{b}} $PATH:$HOME US$5,US$6</p>',
  ],
  [
    "so $x_1 + y$ and \\(a*b*c\\)",
    '<p dir="auto">so <span class="nb-math" dir="ltr"><math aria-label="x_1 + y"><mrow><msub><mi>x</mi><mn>1</mn></msub><mo>+</mo><mi>y</mi></mrow></math></span> and <span class="nb-math" dir="ltr"><math aria-label="a*b*c">',
  ],
  [
    "where\n$$\n- x\n= 1\n$$\nthen",
    '<p dir="auto">where</p><span class="nb-math nb-display" dir="ltr"><math display="block" aria-label="- x\n= 1">',
  ],
  [
    "said[^1]\n\n[^1]: by *whom*\n[^b]: x",
    '<p dir="auto">said<sup>1</sup></p><p class="nb-note" dir="auto"><sup>1</sup> by <em>whom</em></p><p class="nb-note" dir="auto"><sup>b</sup> x</p>',
  ],
  ["<b>x</b>", '<p dir="auto">&lt;b&gt;x&lt;/b&gt;</p>'],
  ["# One", '<h3 dir="auto">One</h3>'],
  ["- [x] done", '<li class="nb-task">☑ done</li>'],
  ["&lt;b&gt; &copy; &#36;", '<p dir="auto">&lt;b&gt; &amp;copy; $</p>'],
])("%j is shown as it is meant", (text, html) => {
  expect(whole(text)).toContain(html);
});

test("a link has its address from the moment it is pressed", () => {
  const el = document.createElement("div");
  render(h("div", null, new IncrementalMarkdown().read("[docs](https://a.example/b)", false)), el);
  const found = el.querySelector("a");
  const before = found?.hasAttribute("href");

  found?.dispatchEvent(new Event("pointerdown"));

  expect(before).toBe(false);
  expect(found?.href).toBe("https://a.example/b");
});

test.each([
  ">".repeat(5000),
  "- ".repeat(1500),
  "[".repeat(3000),
  "*a".repeat(3000),
  "`".repeat(3001),
  "$".repeat(3000),
  "$a".repeat(3000),
])("markup that no person writes is shown in time", (text) => {
  const began = performance.now();

  expect(whole(text).length).toBeGreaterThan(0);
  expect(performance.now() - began).toBeLessThan(3000);
});

test.each([
  ["- \u05e9\u05dc\u05d5\u05dd\n- b", '<ul dir="rtl"><li>'],
  ["1. \u0645\u0631\u062d\u0628\u0627", '<ol dir="rtl" start="1"><li>'],
  ["- (a) \u05e9\u05dc\u05d5\u05dd", "<ul><li>"],
])("%j is aligned by the direction of its first word", (text, html) => {
  expect(whole(text)).toContain(html);
});

/** The formulas of a text, wherever in it they are. */
function formulasOf(tokens: unknown): string[] {
  if (Array.isArray(tokens)) return tokens.flatMap(formulasOf);
  if (typeof tokens !== "object" || tokens === null) return [];
  const token = tokens as MathToken;
  return token.type === "math" ? [token.tex] : Object.values(tokens).flatMap(formulasOf);
}

test.each(formulas as [string, string[]][])(
  "%j has the formulas that the static form has",
  (text, expected) => {
    expect(formulasOf(lex(text))).toEqual(expected);
  },
);
