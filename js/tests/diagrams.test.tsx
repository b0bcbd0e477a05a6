import { h, render } from "preact";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setDiagramDrawer } from "../src/kernel/pageServices";
import { Code } from "../src/rich/markdown/code";
import { MAX_DIAGRAMS, MAX_SVG_CHARS } from "../src/rich/markdown/Diagram";
import {
  diagramProblem,
  MAX_DIAGRAM_CHARS,
  MAX_DIAGRAM_LINES,
  MAX_DIAGRAM_LINKS,
} from "../src/rich/markdown/plainDiagram";
import { drawn, until } from "./page";

const PLAIN = [
  "flowchart TD\n  A[Start] --> B{Is it?}\n  B -->|Yes| C(OK)\n  B -- No --> D[[End]]\n  C & D --> E((x))",
  "graph LR; A-->B; B-->C",
  "%% a comment\nflowchart LR\n  A[one<br/>two] -.-> B\n  style A fill:#f9f,stroke:#333,stroke-width:2px\n  classDef big font-size:20px\n  class A big",
  "sequenceDiagram\n  participant A as Alice\n  A->>+B: Hello, John!\n  rect rgb(0, 255, 0)\n  Note right of B: thinks\n  B-->>-A: Fine\n  end",
  "classDiagram\n  class Bird {\n    <<interface>>\n    +String name\n    +fly() bool\n  }\n  Bird <|-- Owl",
  "stateDiagram-v2\n  [*] --> Still\n  Still --> [*]",
  "erDiagram\n  CUSTOMER ||--o{ ORDER : places",
  'pie title Birds\n  "Wren" : 3\n  "Owl" : 1',
  "mindmap\n  root((birds))\n    Owl\n    Wren",
  "timeline\n  title History\n  2002 : one\n  2004 : two",
  "gantt\n  title A plan\n  dateFormat YYYY-MM-DD\n  axisFormat %d %b\n  excludes weekends\n  section Data\n    Read it (all) :done, crit, a1, 2026-01-05, 2026-01-09\n    Clean it :a2, after a1, 10d\n    Plot :after a1 a2, 2w\n    Show :milestone, 2026-02-01, 0d",
];

test.each(PLAIN)("a plain diagram is drawn: %s", (text) => {
  expect(diagramProblem(text)).toBe("");
});

const HOSTILE = [
  '%%{init: {"themeCSS": "@import url(https://canary.invalid/a.css)"}}%%\ngraph LR\nA-->B',
  "---\nconfig:\n  securityLevel: loose\n---\ngraph LR\nA-->B",
  '  ---\ntitle: x\nconfig:\n  securityLevel: loose\n---\ngraph LR\nA["x"]',
  'graph LR\nA-->B\nclick A "https://canary.invalid"',
  "graph LR\nA-->B;click A call alert()",
  "graph LR\nA-->B\u2028click A href x",
  'graph LR\nA["<img src=x onerror=alert(1)>"]',
  'graph LR\nA["<IMG/src=x>"]',
  'graph LR\nA["< img src=x>"]',
  'graph LR\nA["<br/><svg onload=alert(1)>"]',
  'graph LR\nA["<!--x--><a>"]',
  'graph LR\nA["&lt;img src=x&gt;"]',
  'graph LR\nA["#60;img src=x#62;"]',
  'graph LR\nA["#lt;img src=x#gt;"]',
  "graph LR\nA-->B\nstyle A fill:url(https://canary.invalid/a)",
  "graph LR\nA-->B\nstyle A fill:u\\72l(//canary.invalid/a)",
  "graph LR\nA-->B\nclassDef x background:image-set('a' 1x)",
  "graph LR;A-->B;linkStyle 0 stroke:red}body{display:none",
  'graph LR\nA@{ img: "x.png", label: "x" }',
  "graph LR\nA-->B\nA@{ shape: rect }",
  "graph LR\nA[$$\\href{javascript:alert(1)}{x}$$]",
  "mindmap\n  root\n    ::icon(fa fa-book)",
  'sequenceDiagram\n  participant A\n  link A: x @ https://canary.invalid\n  links A: {"a": "b"}',
  "sequenceDiagram\n  participant A\n  properties A: {}",
  'classDiagram\n  class A\n  link A "x"\n  callback A "alert"',
  "C4Context\n  Person(a, b)",
  "gantt\n  tickInterval 1millisecond\n  a :a1, 0001-01-01, 9999d",
  "gantt\n  a :a1, 0001-01-01, 9999-12-31",
  "gantt\n  a :a1, 2020-01-01, 9999d",
  "gantt\n  a :a1, 2020-01-01, 3y",
  "gantt\n  dateFormat x\n  a :a1, 1, 9999999999999",
  "gantt\n  excludes monday, tuesday, wednesday, thursday, friday, saturday, sunday\n  a :2026-01-05, 3d",
  "gantt\n  excludes monday : a, 2026-01-05, 3d",
  "gantt\n  TickInterval 1millisecond :a, 2026-01-05, 3d",
  "gantt\n  todayMarker stroke:url(x)\n  a :2026-01-05, 3d",
  "gantt\n  a :a1, 1/1/100, 3d",
  `gantt\n${"  a :2026-01-05, 3d\n".repeat(61)}`,
  "info",
  "block-beta\n columns 99999999\n a",
  "graphX\nA-->B",
];

test.each(HOSTILE)("a diagram that links, loads, configures or is HTML stays its source: %s", (text) => {
  expect(diagramProblem(text)).not.toBe("");
});

test.each([
  ["characters", `graph LR\nA["${"x".repeat(MAX_DIAGRAM_CHARS)}"]`],
  ["lines", `graph LR\n${"A\n".repeat(MAX_DIAGRAM_LINES)}`],
  ["links", `graph LR\nA${"-->B".repeat(MAX_DIAGRAM_LINKS + 1)}`],
  ["“&”", "graph LR\nA & B & C --> D & E & F"],
])("a diagram with too many %s stays its source, and says so", (what, text) => {
  expect(diagramProblem(text)).toMatch(new RegExp(`more than .*${what}`));
});

let seen: (() => void)[] = [];
const el = document.createElement("div");

beforeEach(() => {
  seen = [];
  document.body.append(el);
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      #see: () => void;
      constructor(tell: (entries: object[]) => void) {
        this.#see = () => tell([{ isIntersecting: true }]);
      }
      observe(): void {
        seen.push(this.#see);
      }
      disconnect(): void {
        seen = seen.filter((see) => see !== this.#see);
      }
    },
  );
});

afterEach(() => {
  render(null, el);
  setDiagramDrawer(undefined);
  vi.unstubAllGlobals();
});

async function show(text: string, open = false): Promise<void> {
  render(h(Code, { text, language: "mermaid", open }), el);
  await drawn();
}

async function see(): Promise<void> {
  for (const one of [...seen]) one();
  await drawn();
  await drawn();
}

const TEXT = "graph LR\nA-->B";

test("a block stays code where the page has no Mermaid, and while it is written", async () => {
  await show(TEXT);
  expect(el.querySelector(".nb-diagram")).toBeNull();

  setDiagramDrawer(() => Promise.reject(new Error("asked")));
  await show(TEXT, true);
  expect(el.querySelector(".nb-diagram")).toBeNull();
  expect(el.querySelector("code")?.textContent).toBe(TEXT);
});

test("a diagram is an image over its source, drawn when it is seen", async () => {
  const draw = vi.fn(async () => ({ svg: "<svg>ä</svg>", width: 120, accessibleTitle: "A\u202e title" }));
  setDiagramDrawer(draw);
  await show(TEXT);
  expect(draw).not.toHaveBeenCalled();
  expect(el.querySelector("code")?.textContent).toBe(TEXT);

  await see();
  const image = el.querySelector("img");
  expect(image?.getAttribute("src")).toBe("data:image/svg+xml,%3Csvg%3E%C3%A4%3C%2Fsvg%3E");
  expect(image?.alt).toBe("A\\u{202e} title");
  expect(el.querySelector("svg")).toBeNull();
  expect(el.querySelector("details code")?.textContent).toBe(TEXT);
  expect(el.querySelector("details button")).not.toBeNull();
  expect(draw).toHaveBeenCalledExactlyOnceWith(TEXT);
});

test("what is not drawn says why, and keeps its source", async () => {
  const draw = vi.fn(async () => ({ svg: "x".repeat(MAX_SVG_CHARS + 1) }));
  setDiagramDrawer(draw);
  await show('graph LR\nA["<img src=x>"]');
  await see();
  expect(draw).not.toHaveBeenCalled();
  expect(el.textContent).toContain("Not drawn as a diagram: it has HTML.");

  await show(TEXT);
  await see();
  expect(el.textContent).toContain("Not drawn as a diagram: its image is too large.");
  expect(el.querySelector("img")).toBeNull();

  setDiagramDrawer(() => Promise.reject(new Error("Parse error")));
  await show(`${TEXT}-->C`);
  await see();
  expect(el.textContent).toContain("Not drawn as a diagram: Mermaid cannot read it.");
  expect(el.querySelector("code")?.textContent).toBe(`${TEXT}-->C`);
});

test("a page draws a bounded number of diagrams", async () => {
  const draw = vi.fn(async () => ({ svg: "<svg/>" }));
  setDiagramDrawer(draw);
  const texts = Array.from({ length: MAX_DIAGRAMS + 1 }, (_, n) => `${TEXT}${n}`);
  render(
    h(
      "div",
      null,
      texts.map((text) => h(Code, { text, language: "mermaid", open: false })),
    ),
    el,
  );
  await drawn();
  await see();
  await until(() =>
    expect(el.textContent).toContain(
      `this page has drawn ${MAX_DIAGRAMS} diagrams; reload it to draw others`,
    ),
  );
  expect(draw.mock.calls.length).toBeLessThanOrEqual(MAX_DIAGRAMS);
});
