// Run a Python script of this repository in the demo's Python: node lite/run_python.mjs SCRIPT [ARGUMENT…]
//
// `make lane LANE=lite` downloads that Python and the wheels to build/lite-parts, or set LITE_PARTS to another folder with them.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const parts = resolve(process.env.LITE_PARTS ?? join(root, "build", "lite-parts"));
const { loadPyodide } = await import(pathToFileURL(join(parts, "node_modules", "pyodide", "pyodide.mjs")));
const python = await loadPyodide({ indexURL: join(parts, "node_modules", "pyodide") });
const site = python.runPython("import site; site.getsitepackages()[0]");
for (const wheel of readdirSync(join(parts, "wheels")).filter(name => !name.startsWith("nbtool"))) {
  python.unpackArchive(new Uint8Array(readFileSync(join(parts, "wheels", wheel))), "wheel", { extractDir: site });
}
python.FS.mkdir("/repository");
python.FS.mount(python.FS.filesystems.NODEFS, { root }, "/repository");
python.globals.set("arguments", python.toPy(process.argv.slice(2)));
process.exitCode = await python.runPythonAsync(`
import os, runpy, sys
os.chdir("/repository")
sys.path.insert(0, "/repository")
sys.argv, code = arguments, 0
try:
    runpy.run_path(arguments[0], run_name="__main__")
except SystemExit as ended:
    code = ended.code
code
`);
