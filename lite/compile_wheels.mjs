// Add compiled modules to the wheels of a folder, with the Python that will run them: node compile_wheels.mjs PYODIDE FOLDER
import { pathToFileURL } from "node:url";

const [runtime, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${runtime}/pyodide.mjs`));
const pyodide = await loadPyodide();
pyodide.mountNodeFS("/wheels", folder);
pyodide.runPython(`
import importlib.util
import warnings
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

SITE = "/lib/python3.14/site-packages/"
warnings.simplefilter("ignore")  # of the packages' own code


def compiled(name, source):
    """Return a module as Python caches it, to be used without a look at its source."""
    code = compile(source, SITE + name, "exec", dont_inherit=True)
    return _code_to_hash_pyc(code, importlib.util.source_hash(source), False)


for wheel in sorted(Path("/wheels").glob("*.whl")):
    with ZipFile(wheel, "a", ZIP_DEFLATED) as archive:
        for name in archive.namelist():
            if name.endswith(".py") and ".data/" not in name:
                try:
                    module = compiled(name, archive.read(name))
                except SyntaxError:  # a template, or for another Python
                    continue
                archive.writestr(importlib.util.cache_from_source(name), module)
`);
