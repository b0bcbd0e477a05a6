import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import source from "../src/index";
import { drawn, Kernel, start } from "./page";

const built = `${import.meta.dirname}/../../nbtool/view/static`;
const REPLY = readFileSync(`${import.meta.dirname}/recorded/finished.json`, "utf8");

/** Text that meets every rule which build.mjs takes out of marked's lexer. */
const ODD =
  "<div>\n\n<!-- x -->\n\n[a]: https://b.example\n\n[a] <b>c</b> *d* _e_ ~~f~~\n\n| g |\n|---|\n| h |\n";

test("the built script and its style sheet are small", () => {
  const size = ["widget.js", "widget.css"].reduce(
    (sum, name) => sum + gzipSync(readFileSync(`${built}/${name}`), { level: 9 }).length,
    0,
  );

  expect(size).toBeLessThanOrEqual(25_000);
});

test.each([ODD, JSON.parse(REPLY).document.head.prompt, REPLY])(
  "the built script shows what the sources show",
  async (text) => {
    const script = readFileSync(`${built}/widget.js`, "utf8");
    const bundle = (await import(`data:text/javascript,${encodeURIComponent(script)}`))
      .default as typeof source;
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

    expect(made[1]?.el.innerHTML).toBe(made[0]?.el.innerHTML);
    for (const { close } of made) close();
  },
);
