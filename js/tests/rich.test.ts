import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import formulas, { math, NESTING_LIMIT } from "../src/formulas/index";
import { loadModule, setModule } from "../src/kernel/lazy";
import { highlight } from "../src/rich/highlight";
import sourceRich from "../src/rich/index";
import { calls, Looking } from "./approval/desk";
import { drawn, Kernel, shown, start } from "./page";

const REPLY = {
  id: "1",
  kind: "text",
  text: "Some *words*",
  refusal: false,
  state: "open",
  more: {},
} as const;

beforeEach(() => setModule("rich", null));
afterEach(() => setModule("rich", sourceRich));

test("a reply is unformatted until the second module is loaded, and is then shown as Markdown", async () => {
  const page = shown(new Kernel({ ...start(), blocks: [REPLY] }));
  await drawn();
  const before = page.el.querySelector(".nb-reply")?.innerHTML;

  setModule("rich", sourceRich);
  await drawn();

  expect(before).toContain("Some *words*");
  expect(page.el.querySelector(".nb-reply em")?.textContent).toBe("words");
  page.close();
});

test("while it is plain, a reply grows in the same text node", async () => {
  const kernel = new Kernel({ ...start(), blocks: [REPLY] });
  const page = shown(kernel);
  await drawn();
  const node = page.el.querySelector(".nb-lines .nb-lines")?.firstChild;

  kernel.patches({ op: "extend", id: "1", field: "text", text: " and more" });
  await drawn();

  expect(page.el.querySelector(".nb-lines .nb-lines")?.firstChild).toBe(node);
  expect(node?.textContent).toBe("Some *words* and more");
  page.close();
});

test("of several widgets on a page one asks for the module, and only when the kernel answers", async () => {
  vi.useFakeTimers({ now: Date.now() + 60_000 });
  const kernels = [1, 2].map(() => new Kernel({ ...start(), blocks: [REPLY] }));
  const pages = kernels.map(shown);
  await vi.advanceTimersByTimeAsync(10);
  const early = kernels.flatMap((kernel) => kernel.of("rich"));

  for (const kernel of kernels) kernel.tell({ v: 1, kind: "ack", id: "x" });

  expect(early).toEqual([]);
  expect(kernels.flatMap((kernel) => kernel.of("rich"))).toHaveLength(1);
  for (const page of pages) page.close();
  vi.useRealTimers();
});

test("what sets formulas is loaded with the first formula, whose source is shown until then", async () => {
  setModule("rich", sourceRich);
  setModule("formulas", null);
  const [plain, formula] = ["no formula", "so $x_1$ is"].map((text) => {
    const kernel = new Kernel({ ...start(), blocks: [{ ...REPLY, text }] });
    return { kernel, ...shown(kernel) };
  });
  await drawn();
  plain?.kernel.tell({ v: 1, kind: "ack", id: "x" });
  formula?.kernel.tell({ v: 1, kind: "ack", id: "x" });
  const before = formula?.el.querySelector(".nb-math")?.textContent;

  setModule("formulas", formulas);
  await drawn();

  expect(before).toBe("$x_1$");
  expect(formula?.el.querySelectorAll(".nb-math > math")).toHaveLength(1);
  expect([plain, formula].flatMap((page) => page?.kernel.of("formulas") ?? [])).toHaveLength(1);
  plain?.close();
  formula?.close();
});

test("a page without a formula does not ask for what sets them", async () => {
  setModule("rich", sourceRich);
  const kernel = new Kernel({ ...start(), blocks: [REPLY] });
  const page = shown(kernel);
  await drawn();

  kernel.tell({ v: 1, kind: "ack", id: "x" });

  expect(kernel.of("formulas")).toEqual([]);
  page.close();
});

test("a module that was built with another script is not loaded", async () => {
  const packed = gzipSync(new TextEncoder().encode("globalThis.loaded = true; export default {}"), {
    level: 1,
  });

  await loadModule("another", new DataView(packed.buffer as ArrayBuffer));

  expect("loaded" in globalThis).toBe(false);
});

test("code in colours is the code, character by character", () => {
  const code = 'def f(a: str) -> str:\n    return f"<b>{a}</b> & \\x27"  # "x"\n';

  expect(highlight(code, "python")?.textContent).toBe(code);
  expect(highlight(code, "no such language")).toBeNull();
  expect(highlight("x".repeat(50_001), "python")).toBeNull();
});

test.each([
  ["\\href{https://a.example}{x}", ""],
  ["\\includegraphics{https://a.example}", ""],
  ["\\def\\a{\\a\\a}\\a", ""],
  ["x".repeat(5001), ""],
  ["\\frac{", ""],
  ["\\rule{500em}{500em}x", "x"],
  ["\\kern-50em y", "y"],
  ["\\raisebox{20em}{z}", "z"],
])("%j is no way out of a formula", (tex, text) => {
  const made = math(tex, true);
  const html = made instanceof Element ? made.outerHTML : "";

  expect(made?.textContent ?? "").toContain(text);
  expect(html.replace(/aria-label="[^"]*"/, "")).not.toMatch(
    /[ "](href|src|style|voffset)=|-50|500|a\.example/,
  );
});

test("a reason that was typed on the plain card, and the focus in it, go over to the full one", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("IntersectionObserver", undefined);
  const kernel = new Kernel({ ...start(), blocks: calls({}, {}) });
  const page = shown(kernel);
  await vi.advanceTimersByTimeAsync(600);
  const plain = page.el.querySelectorAll<HTMLInputElement>(".nb-reason")[1] as HTMLInputElement;
  plain.focus();
  plain.value = "not today";
  plain.dispatchEvent(new Event("input", { bubbles: true }));

  vi.stubGlobal("IntersectionObserver", Looking);
  setModule("rich", sourceRich);
  await vi.advanceTimersByTimeAsync(600);
  const fields = [...page.el.querySelectorAll<HTMLInputElement>(".nb-item .nb-reason")];
  [...page.el.querySelectorAll("button")].filter((one) => one.textContent === "Deny")[1]?.click();

  expect(fields.map(({ value }) => value)).toEqual(["", "not today"]);
  expect(document.activeElement?.closest(".nb-item")).toBe(fields[1]?.closest(".nb-item"));
  expect(kernel.of("deny")).toMatchObject([{ digest: "d2", reason: "not today" }]);
  page.close();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test.each([
  ["\\frac{", "}1"],
  ["\\boxed{", "}"],
  ["\\cancel{", "}"],
  ["\\sqrt{", "}"],
  ["\\hat{", "}"],
  ["x^{", "}"],
  ["\\left(", "\\right)"],
  ["\\begin{matrix}", "\\end{matrix}"],
])("a formula that nests %s is set up to a depth, and shown as its source beyond it", (open, close) => {
  const nested = (levels: number): string => `${open.repeat(levels)}x${close.repeat(levels)}`;

  expect(math(nested(5), true)).not.toBeNull();
  expect(math(nested(NESTING_LIMIT + 1), true)).toBeNull();
});

test("a copied code block shows a sign as wide as the icon, which has its word as its name", async () => {
  setModule("rich", sourceRich);
  const writeText = vi.fn(async () => {});
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  const text = "```sql\nselect 1\n```";
  const page = shown(new Kernel({ ...start(), blocks: [{ ...REPLY, text, state: "whole" }] }));
  await drawn();
  const copy = page.el.querySelector<HTMLButtonElement>(".nb-block-actions > .nb-copy");
  copy?.click();
  await drawn();

  expect(writeText).toHaveBeenCalledWith("select 1");
  expect([copy?.textContent, copy?.getAttribute("aria-label"), copy?.title]).toEqual([
    "✓",
    "Copied",
    "Copied",
  ]);
  vi.unstubAllGlobals();
  page.close();
});
