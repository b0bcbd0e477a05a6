import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCES = `${import.meta.dirname}/../src`;
/** The extension of JupyterLab is on no other page, the pill outside of a turn; highlighting has colors of its own. */
const READS_PAGE = ["lab/lab.css", "rich/approval/pill.css", "rich/markdown/code.css", "styles/theme.css"];
/** What JupyterLab defines and VS Code's widgets do not, or what is the same in every theme. */
const SAME = /^--jp-(?:content-(?:font-family|font-size1|line-height|link-color)|code-padding)$/;

test("the colors and fonts of a page are read in one place", () => {
  const files = readdirSync(SOURCES, { recursive: true }).map((file) =>
    file.toString().replaceAll("\\", "/"),
  );
  const styles = files.filter((file) => file.endsWith(".css"));

  const reading = styles.filter((file) =>
    /--(?:jp|vscode)-/.test(readFileSync(`${SOURCES}/${file}`, "utf8")),
  );
  expect(reading.sort()).toEqual(READS_PAGE);
});

test("what VS Code's widgets define of JupyterLab's colors is not read there", () => {
  const [own = "", editor = ""] = readFileSync(`${SOURCES}/styles/theme.css`, "utf8").split("body[", 2);
  const read = new Set([...own.matchAll(/--jp-[\w-]+/g)].map(([name]) => name));
  const cancelled = [...editor.matchAll(/(--jp-[\w-]+): initial;/g)].map(([, name]) => String(name));

  expect([...read].filter((name) => !SAME.test(name)).sort()).toEqual(cancelled.sort());
});
