// Builds ../nbtool/view/static/widget.js and widget.css; `--watch` builds again on every change.
import { readFile } from "node:fs/promises";
import { build, context } from "esbuild";

/** What marked's lexer knows and a reply may not use: raw HTML, definitions, marked's oldest dialect. */
const UNUSED = /const (html|def|tag|blockPedantic|inlinePedantic)\b[^=]*=[\s\S]*?(?:\.getRegex\(\)|\n\});/g;

/** marked's lexer alone, from the sources in its source map: two thirds of the whole, gzipped. */
async function load({ path, suffix }) {
  const map = JSON.parse(await readFile(`${path}.map`, "utf8"));
  const source = map.sourcesContent[map.sources.indexOf(`../src/${suffix.slice(1) || "Lexer.ts"}`)];
  const plain = source.replaceAll("this.options.pedantic", "false").replace(UNUSED, "const $1 = noopTest;");
  const entry = 'export { _Lexer as Lexer }; export { _Tokenizer as Tokenizer } from "./Tokenizer.ts";';
  return { contents: suffix ? plain : plain + entry, loader: "ts" };
}

function setup({ onResolve, onLoad }) {
  const next = ({ path, importer }) => ({ path: importer, suffix: `?${path.slice(2)}` });
  onResolve({ filter: /^\.\/\w+\.ts$/ }, (found) =>
    /marked\.esm\.js$/.test(found.importer) ? next(found) : null,
  );
  onLoad({ filter: /marked\.esm\.js$/ }, load);
}

const bundle = {
  bundle: true,
  format: "esm",
  target: "es2023",
  minify: true,
  jsx: "automatic",
  jsxImportSource: "preact",
};
const banner = {
  js: "/* With marked, (c) MarkedJS and Christopher Jeffrey, and preact, (c) Jason Miller: MIT */",
};
const places = { entryPoints: { widget: "src/index.tsx" }, outdir: "../nbtool/view/static" };
const options = { ...bundle, ...places, banner, plugins: [{ name: "marked-lexer", setup }] };
if (process.argv.includes("--watch")) await (await context({ ...options, sourcemap: "inline" })).watch();
else await build(options);
