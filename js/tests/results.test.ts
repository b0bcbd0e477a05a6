import { beforeEach, expect, test, vi } from "vitest";
import { setOutputDrawer } from "../src/kernel/pageServices";
import { isPassive } from "../src/lab/passive";
import { drawResult } from "../src/lab/results";
import type { RenderMime, SharedModules } from "../src/lab/types";
import type { CallBlock, DisplayData } from "../src/protocol";
import { withResults } from "../src/rich/markdown/results";
import { drawn, Kernel, shown, start } from "./page";

const LITE = "application/vnd.vegalite.v5+json";
const PLOTLY = "application/vnd.plotly.v1+json";
const SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json";

function lite(part: object): DisplayData {
  const data = { values: [{ a: 1, link: "https://example.org" }] };
  return { mime: LITE, text: JSON.stringify({ $schema: SCHEMA, mark: "bar", data, ...part }) };
}

function plotly(part: object, trace: object = {}): DisplayData {
  return {
    mime: PLOTLY,
    text: JSON.stringify({ data: [{ type: "bar", y: [1, 2], ...trace }], layout: {}, ...part }),
  };
}

test.each<[string, DisplayData]>([
  ["a chart of its own rows", lite({ encoding: { x: { field: "a", type: "nominal" } } })],
  ["one that can be moved", lite({ params: [{ name: "p", select: { type: "interval" }, bind: "scales" }] })],
  ["one of named data", lite({ data: { name: "d" }, datasets: { d: [{ a: 1 }] } })],
  ["bars of plotly", plotly({})],
  ["a table", { mime: "text/html", text: "<table class='t'><tr><td style='color:red'>1</td></tr></table>" }],
  ["a formula", { mime: "text/latex", text: "$\\frac{a}{b}$" }],
])("%s is drawn unasked", (_, display) => {
  expect(isPassive(display)).toBe(true);
});

test.each<[string, DisplayData]>([
  ["data of an address", lite({ data: { url: "https://evil.example/x.csv" } })],
  ["data of an address in a layer", lite({ layer: [{ data: { url: "//evil.example" }, mark: "bar" }] })],
  [
    "a lookup at an address",
    lite({ transform: [{ lookup: "a", from: { data: { url: "x.csv" }, key: "a" } }] }),
  ],
  ["an expression", lite({ transform: [{ calculate: "1", as: "b" }] })],
  ["a filter that is an expression", lite({ transform: [{ filter: "datum.a > 1" }] })],
  ["an expression of a label", lite({ encoding: { x: { axis: { labelExpr: "datum.value" } } } })],
  ["an image", lite({ mark: "image" })],
  ["an image as a type", lite({ mark: { type: "image" } })],
  ["a link", lite({ encoding: { href: { field: "link" } } })],
  ["an input of a form", lite({ params: [{ name: "p", bind: { input: "range" } }] })],
  ["options of its embedding", lite({ usermeta: { embedOptions: { loader: {} } } })],
  ["a title with an address", lite({ title: "https://evil.example" })],
  ["Vega, which has signals", { mime: "application/vnd.vega.v5+json", text: "{}" }],
  ["another type", { mime: "application/vnd.other+json", text: "{}" }],
  ["what is no JSON", { mime: LITE, text: "{" }],
  ["an image of plotly", plotly({ layout: { images: [{ source: "https://evil.example/p.png" }] } })],
  [
    "tiles of plotly",
    plotly({ layout: { mapbox: { style: "open-street-map" } } }, { type: "scattermapbox" }),
  ],
  ["tiles of a trace alone", plotly({}, { type: "scattermap" })],
  ["a picture as a trace", plotly({}, { type: "image", source: "data:image/png;base64,AA" })],
  ["a link in a text of plotly", plotly({}, { text: ["<a href='x'>y</a>"] })],
  ["a picture in a template", plotly({ layout: { template: { layout: { images: [{}] } } } })],
  ["frames of plotly", plotly({ frames: [] })],
  ["a script", { mime: "text/html", text: "<script>alert(1)</script>" }],
  ["a handler", { mime: "text/html", text: "<b onclick='alert(1)'>x</b>" }],
  ["a picture of another host", { mime: "text/html", text: "<img src='https://evil.example/p.png'>" }],
  ["a style sheet", { mime: "text/html", text: "<style>@import 'https://evil.example'</style>" }],
  ["a background", { mime: "text/html", text: "<p style='background:url(//evil.example)'>x</p>" }],
  [
    "a background in escapes",
    { mime: "text/html", text: "<p style='background:u\\72l(//evil.example)'>x</p>" },
  ],
  ["a link that is code", { mime: "text/html", text: "<a href='javascript:alert(1)'>x</a>" }],
  ["a form", { mime: "text/html", text: "<form action='//evil.example'><input></form>" }],
  ["SVG", { mime: "image/svg+xml", text: "<svg/>" }],
  ["a formula with a link", { mime: "text/latex", text: "$\\href{https://evil.example}{x}$" }],
  ["Markdown with a picture", { mime: "text/markdown", text: "![x](https://evil.example/p.png)" }],
])("%s is drawn after a click only", (_, display) => {
  expect(isPassive(display)).toBe(false);
});

function call(display: DisplayData): CallBlock {
  return {
    id: "c1",
    kind: "call",
    call_id: "c1",
    name: "plot",
    round: 1,
    arguments: "{}",
    resolved: {},
    repaired: [],
    state: "ok",
    question: null,
    decisions: [],
    progress: "",
    fraction: null,
    result: "a chart",
    reason: "",
    reference: "",
    started: 1,
    seconds: 0.4,
    more: {},
    display,
  };
}

async function page(display: DisplayData): Promise<{ el: HTMLElement; close(): void }> {
  const kernel = new Kernel({ ...start(), blocks: [call(display)] });
  const made = shown(kernel);
  await drawn();
  return made;
}

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", undefined); // everything is in sight
});

test("a passive result is drawn by the page, and removed with the view", async () => {
  const remove = vi.fn();
  const draw = vi.fn(async (el: HTMLElement) => {
    el.textContent = "DRAWN";
    return remove;
  });
  setOutputDrawer({ draw, addOutput: () => false });
  const { el, close } = await page(lite({}));

  const text = el.querySelector(".nb-result")?.textContent;
  close();
  setOutputDrawer(undefined);

  expect(text).toBe("DRAWN");
  expect(remove).toHaveBeenCalledOnce();
});

test("an active result becomes an ordinary output by a click, and without a page it is named", async () => {
  const added: DisplayData[] = [];
  const attach = vi.fn();
  const registry = { preferredMimeType: () => "text/html" } as unknown as RenderMime;
  const draw = async (el: HTMLElement, display: DisplayData) =>
    drawResult({ Widget: { attach } as unknown as SharedModules["Widget"] }, registry, el, display);
  const html = { mime: "text/html", text: "<script>alert(1)</script>" };
  setOutputDrawer({ draw, addOutput: (_, display) => added.push(display) > 0 });
  const { el, close } = await page(html);
  el.querySelector<HTMLButtonElement>(".nb-result button")?.click();
  await drawn();
  close();
  setOutputDrawer(undefined);
  const alone = await page(html);

  expect(added).toEqual([html]);
  expect(attach).not.toHaveBeenCalled();
  expect(alone.el.querySelector(".nb-result")?.textContent).toContain("is drawn in JupyterLab");
  expect(alone.el.querySelector("script")).toBeNull();
  alone.close();
});

test.each([
  ["model = fit_1_result", "%chat bind fit_1_result\nmodel = fit_1_result"],
  [
    "fit_1_result.score(split_1_result)",
    "%chat bind split_1_result\n%chat bind fit_1_result\nfit_1_result.score(split_1_result)",
  ],
  ["print(1)", "print(1)"],
  ["my_fit_1_result + x.fit_1_result + fit_1_results", "my_fit_1_result + x.fit_1_result + fit_1_results"],
  ["fit_1_result = 3\nprint(fit_1_result)", "fit_1_result = 3\nprint(fit_1_result)"],
])("an inserted block %j binds the results that it uses", (code, expected) => {
  const blocks = ["split_1_result", "fit_1_result", "not a name"].map((reference, n) => ({
    ...call(lite({})),
    id: `c${n}`,
    reference,
  }));

  expect(withResults(code, { ...start(), blocks })).toBe(expected);
});

test("a result that is passed by reference is shown to the person, who is told so", async () => {
  const seen = { text: "x", table: { columns: ["name"], rows: [["Grace"]], more_rows: 9 } };
  const { display: _, ...block } = call(lite({}));
  const described = { ...block, result: "DataFrame, 10 rows by 1 column", is_described: true, seen };
  const page = shown(new Kernel({ ...start(), blocks: [described] }));
  await drawn();

  const outcome = page.el.querySelector(".nb-result");
  expect(outcome?.querySelector("td")?.textContent).toBe("Grace");
  expect(outcome?.textContent).toContain("10 rows");
  expect(outcome?.textContent).toContain("Shown to you only");
  page.close();
});
