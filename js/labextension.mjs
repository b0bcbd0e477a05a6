// Builds ../share/jupyter/labextensions/nbtool-chat, laid out as it is installed: the extension that draws saved turns
// and conversations, and colours %%chat cells.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const NAME = "nbtool-chat";
const FOLDER = `../share/jupyter/labextensions/${NAME}`;

/** Gives a style sheet as a text, with all that it imports. */
const sheets = {
  name: "sheets",
  setup({ onLoad }) {
    onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { outputFiles } = await build({ entryPoints: [path], bundle: true, minify: true, write: false });
      return { contents: outputFiles[0].text, loader: "text" };
    });
  },
};

/** Leaves out the formats of JSON Schema, an eighth of the script at start: the schemas of saved data have none. */
const noFormats = {
  name: "no-formats",
  setup({ onLoad }) {
    const formats = /@cfworker[\\/]json-schema[\\/]dist[\\/]esm[\\/]format\.js$/;
    onLoad({ filter: formats }, () => ({ contents: "export const format = {};" }));
  },
};

/** Write a file under a name that its text decides, so that no browser shows an old one; gives the name. */
async function hashed(name, text) {
  const file = `${name}.${createHash("sha256").update(text).digest("hex").slice(0, 16)}.js`;
  await writeFile(`${FOLDER}/static/${file}`, text);
  return file;
}

/**
 * Build the extension: the container as a plain script, which JupyterLab loads at start, beside it the modules that it
 * loads when they are needed, and what JupyterLab reads first.
 */
export async function buildExtension(bundle, scripts, define) {
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(`${FOLDER}/static`, { recursive: true });
  const shared = { ...bundle, plugins: [sheets, noFormats], write: false };
  const history = await build({
    ...shared,
    entryPoints: { history: "src/lab/historyViews.tsx" },
    banner: {
      js: "/* With preact, (c) Jason Miller, and @cfworker/json-schema, (c) Jeremy Danyow: MIT; diff, (c) Kevin Decker: BSD-3-Clause */",
    },
    define,
  });
  const results = await build({ ...shared, entryPoints: { results: "src/lab/results.ts" } });
  const cells = await build({ ...shared, entryPoints: { cells: "src/notebook/cellRequests.ts" } });
  const { outputFiles } = await build({
    ...shared,
    format: "iife",
    entryPoints: { remoteEntry: "src/lab/index.ts" },
    banner: { js: "/* With preact, (c) Jason Miller, and @cfworker/json-schema, (c) Jeremy Danyow: MIT */" },
    define: {
      ...define,
      LAZY_FILE: JSON.stringify(await hashed("rich", scripts.rich)),
      FORMULAS_FILE: JSON.stringify(await hashed("formulas", scripts.formulas)),
      CELLS_FILE: JSON.stringify(await hashed("cells", cells.outputFiles[0].contents)),
      RESULTS_FILE: JSON.stringify(await hashed("results", results.outputFiles[0].contents)),
      HISTORY_FILE: JSON.stringify(await hashed("history", history.outputFiles[0].contents)),
    },
  });
  const load = `static/${await hashed("remoteEntry", outputFiles[0].contents)}`;
  const [, release] = /__version__ = "(.+)"/.exec(await readFile("../nbtool/__init__.py", "utf8"));
  const told = {
    name: NAME,
    version: release,
    description: "Draws the turns that nbtool leaves in a notebook, and colours %%chat cells",
    license: "BSD-3-Clause",
    jupyterlab: { extension: true, _build: { load, extension: "./extension" } },
  };
  const from = {
    packageManager: "python",
    packageName: NAME,
    uninstallInstructions: `Use your Python package manager (pip, conda, etc.) to uninstall the package ${NAME}`,
  };
  await writeFile(`${FOLDER}/package.json`, `${JSON.stringify(told, null, 2)}\n`);
  await writeFile(`${FOLDER}/install.json`, `${JSON.stringify(from, null, 2)}\n`);
}
