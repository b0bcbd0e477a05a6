import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import source from "../src/index";
import type { LazyModule } from "../src/kernel/lazy";
import type { ProseBlock } from "../src/protocol";
import sourceRich from "../src/rich/index";
import { Rope } from "../src/text/rope";
import type { LazyMounts } from "../src/views/LazyView";
import { drawn, Kernel, start } from "./page";

const built = `${import.meta.dirname}/../../nbtool/view/static`;
const REPLY = readFileSync(`${import.meta.dirname}/recorded/finished.json`, "utf8");
const ODD =
  "<div>\n\n<!-- x -->\n\n[a]: https://b.example\n\n[a] <b>c</b> *d* _e_ ~~f~~\n\n| g |\n|---|\n| h |\n\n```py\ndef f(): return 1\n```\n\n$x^2$\n";

function packed(...names: string[]): number {
  return names.reduce(
    (sum, name) => sum + gzipSync(readFileSync(`${built}/${name}`), { level: 9 }).length,
    0,
  );
}

async function load<T>(name: string): Promise<T> {
  const script = readFileSync(`${built}/${name}`, "utf8");
  return (await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(script)}`)).default;
}

test("what travels with every widget is small, and what is fetched once a page is bounded", () => {
  expect(packed("widget.js", "widget.css")).toBeLessThanOrEqual(20_000);
  expect(packed("rich.js")).toBeLessThanOrEqual(103_000);
  expect(packed("formulas.js")).toBeLessThanOrEqual(66_000);
});

test("the schemas of saved data use no format, since the extension leaves the formats out", () => {
  for (const name of ["saved/schema.json", "explorer/historySchema.json"])
    expect(readFileSync(`${import.meta.dirname}/../src/${name}`, "utf8")).not.toContain('"format"');
});

test.each([ODD, JSON.parse(REPLY).document.head.prompt, REPLY])(
  "the built script shows what the sources show without the second module",
  async (text) => {
    const bundle = await load<typeof source>("widget.js");
    const { setModule } = await import("../src/kernel/lazy");
    setModule("rich", null);
    const made = [source, bundle].map((widget) => {
      const el = document.createElement("div");
      const model = new Kernel({
        ...start(),
        blocks: [{ id: "1", kind: "text", text, refusal: false, state: "whole", more: {} }],
      });
      const close = widget.initialize({ model, el });
      widget.render({ model, el });
      return { el, close };
    });
    await drawn();
    setModule("rich", sourceRich);

    expect(made[1]?.el.innerHTML).toBe(made[0]?.el.innerHTML);
    expect(made[1]?.el.textContent).toContain(text.trim().split("\n")[0]);
    for (const { close } of made) close();
  },
);

test.each([ODD, REPLY])("the built second module shows what its sources show", async (text) => {
  const bundle = await load<LazyModule>("rich.js");
  const formulas = createHash("sha256").update(readFileSync(`${built}/formulas.js`));
  const key = Symbol.for(`nbtool.formulas.${formulas.digest("hex").slice(0, 16)}`);
  (globalThis as Record<symbol, unknown>)[key] = { module: await load("formulas.js"), listeners: new Set() };
  const block: ProseBlock = { id: "1", kind: "text", text, refusal: false, state: "whole", more: {} };

  const [fromSource, fromBundle] = [sourceRich, bundle].map(({ views }) => {
    const el = document.createElement("div");
    (views as Partial<LazyMounts>).prose?.(el, { block, text: Rope.from(text) });
    return el.innerHTML;
  });

  expect(fromBundle).toBe(fromSource);
  expect(fromBundle).toContain("<p");
});
