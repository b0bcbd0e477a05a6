// Builds ../nbtool/view/static: widget.js and widget.css, sent with each turn's widget, explorer.js and explorer.css with
// the history explorer, conversation.js and conversation.css with a conversation, map.js and map.css with a map of many
// prompts, probe.js with `%chat doctor`, rich.js, fetched once a page, and
// formulas.js, fetched with the first formula.
// Then the extension of JupyterLab (labextension.mjs). `--watch` builds the first again on every change, not the extension.
import { createHash } from "node:crypto";
import { build, context } from "esbuild";
import { buildExtension } from "./labextension.mjs";

const bundle = {
  bundle: true,
  format: "esm",
  target: "es2023",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: "../nbtool/view/static",
};
const rich = {
  ...bundle,
  charset: "utf8", // it is loaded as a module, which is always UTF-8: escapes would take 1.4 KB more
  entryPoints: { rich: "src/rich/index.tsx" },
  loader: { ".css": "text" },
  banner: {
    js: "/* With highlight.js, (c) Ivan Sagalaev, and diff, (c) Kevin Decker: BSD-3-Clause; @cfworker/json-schema, (c) Jeremy Danyow, marked, (c) MarkedJS and Christopher Jeffrey, and preact, (c) Jason Miller: MIT */",
  },
};
const formulas = {
  ...rich,
  entryPoints: { formulas: "src/formulas/index.ts" },
  banner: { js: "/* With temml, (c) Ron Kok: MIT */" },
};
const widgets = {
  ...bundle,
  entryPoints: {
    widget: "src/index.tsx",
    conversation: "src/conversation/index.tsx",
    map: "src/map/index.tsx",
  },
  banner: { js: "/* With preact, (c) Jason Miller: MIT */" },
};
const probe = { ...bundle, entryPoints: { probe: "src/probe/index.ts" } };
const explorer = {
  ...bundle,
  entryPoints: { explorer: "src/explorer/index.tsx" },
  banner: { js: "/* With preact, (c) Jason Miller: MIT, and diff, (c) Kevin Decker: BSD-3-Clause */" },
};

if (process.argv.includes("--watch")) {
  for (const each of [formulas, rich, widgets, explorer, probe])
    await (await context({ ...each, sourcemap: "inline" })).watch();
} else {
  const define = {};
  const scripts = {};
  for (const [name, each] of Object.entries({ formulas, rich })) {
    const { outputFiles } = await build({ ...each, define, write: false });
    scripts[name] = outputFiles[0].contents;
    const version = createHash("sha256").update(scripts[name]).digest("hex").slice(0, 16);
    await build({ ...each, define });
    define[name === "rich" ? "LAZY_VERSION" : "FORMULAS_VERSION"] = JSON.stringify(version);
  }
  for (const each of [widgets, explorer, probe]) await build({ ...each, define });
  await buildExtension(bundle, scripts, define);
}
