// What JupyterLite's kernel loads in place of pyodide.mjs: Python, with the modules that a first cell needs.
//
// The kernel then puts the notebook's folder on the path of modules. From there on each top-level module is looked for
// in that folder first, and it is the page that answers, beside its other work: a hundred questions for a first turn.
import { loadPyodide as loadRuntime } from "./runtime.mjs";

const NEEDED = ["pyodide_kernel", "nbtool.magics", "nbtool.chat", "nbtool.view", "nbtool.practice"];
const NEEDED_LATER = ["bdb", "csv", "docstring_parser", "httpx", "markdown_it", "mimetypes", "platform", "sqlite3", "symtable", "wave"];

export async function loadPyodide(options) {
  const pyodide = await loadRuntime(options);
  await pyodide.runPythonAsync(`import ${[...NEEDED, ...NEEDED_LATER].join(", ")}`);
  return pyodide;
}
