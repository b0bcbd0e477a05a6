/** Puts the extension together: node build.mjs MODULES NBEXTENSIONS TARGET. */
import { cpSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, nbextensions, target] = process.argv.slice(2).map((path) => resolve(path));
const source = join(import.meta.dirname, "extension");
const { buildSync } = createRequire(join(import.meta.dirname, "../../js/package.json"))("esbuild");

mkdirSync(target, { recursive: true });
for (const name of ["package.json", "host.js", "kernel.js", "cells.js", "outputs.js", "commandServer.js", "renderer.js"])
  cpSync(join(source, name), join(target, name));
cpSync(join(nbextensions, "anywidget"), join(target, "nbextensions/anywidget"), { recursive: true });
buildSync({
  entryPoints: [join(source, "widgets.js")],
  outfile: join(target, "widgets.js"),
  bundle: true,
  format: "esm",
  target: "es2023",
  nodePaths: [modules],
  loader: { ".css": "text", ".svg": "text" },
});
