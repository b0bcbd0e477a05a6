"""Build the live demo: a JupyterLite site of static files, in which nothing is loaded from another host.

    python lite/build_site.py PARTS OUTPUT    (make lane LANE=lite does it)

`PARTS` holds what was downloaded, in exact versions: `node_modules/pyodide`, the Python runtime; `wheels`, the
packages that nbtool needs in the browser, and nbtool's own; the environment of this Python has JupyterLite.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from packaging.markers import default_environment
from packaging.metadata import parse_email
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parent
NODE = os.environ.get("NODE", "node")
RUNTIME = {name: name for name in ("pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")}
RUNTIME["pyodide.mjs"] = "runtime.mjs"
"""The files of the runtime, and their names in the site, where JupyterLite loads start.mjs as `pyodide.mjs`."""

UNUSED = re.compile(
    r"[^/]+\.data/(?:data|scripts)/"  # programs, and what JupyterLab's page loads
    r"|jedi/third_party/(?:django-stubs|typeshed/stubs)/"  # 4,500 files about packages that are not here
)
"""What no module of the wheels reads in the browser."""

IN_THE_PAGE = frozenset({"jupyterlab-widgets", "widgetsnbextension"})
"""Packages of scripts for JupyterLab, which the page has; no module imports them."""

KERNEL_PLUGIN = "@jupyterlite/pyodide-kernel-extension:kernel"

NOTEBOOK = HERE / "first_chat.ipynb"
"""What the site opens; the notebooks of the manual need pandas, which has no package for the browser's Python."""


def build(parts: Path, output: Path) -> None:
    """Build the site, in place of a former one."""
    shutil.rmtree(output, ignore_errors=True)
    source = (parts / "site").resolve()
    shutil.rmtree(source, ignore_errors=True)
    wheels = [*sorted((parts / "wheels").glob("*.whl")), *kernel_wheels()]
    wheels = [wheel for wheel in wheels if describe_wheel(wheel)["name"] not in IN_THE_PAGE]
    names = write_runtime(parts / "node_modules" / "pyodide", wheels, source / "static" / "pyodide")
    (source / "files").mkdir()
    shutil.copy2(NOTEBOOK, source / "files")
    write_configuration(source, names, [wheel for wheel in wheels if wheel.name.startswith("nbtool_chat-")])
    command = [
        sys.executable,
        "-m",
        "jupyterlite_core",
        "build",
        "--lite-dir",
        source,
        "--output-dir",
        output.resolve(),
    ]
    subprocess.run(list(map(str, command)), check=True, cwd=source)


def kernel_wheels() -> list[Path]:
    """Return the wheels that the Pyodide kernel brings."""
    files = distribution("jupyterlite-pyodide-kernel").files or []
    found = [Path(str(file.locate())) for file in files if file.suffix == ".whl" and "pypi" in file.parts]
    return sorted(found)


def write_runtime(pyodide: Path, wheels: list[Path], target: Path) -> list[str]:
    """Write the runtime with these wheels as its packages, and return their names; all load before the first cell."""
    target.mkdir(parents=True)
    for name, new_name in RUNTIME.items():
        shutil.copy2(pyodide / name, target / new_name)
    shutil.copy2(HERE / "start.mjs", target / "pyodide.mjs")
    copies = [copy_wheel(wheel, target) for wheel in wheels]
    subprocess.run([NODE, HERE / "compile_wheels.mjs", pyodide, target], check=True)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    described = [describe_wheel(wheel) for wheel in copies]
    present = {package["name"] for package in described}
    for package in described:
        package["depends"] = sorted(present.intersection(package["depends"]))
    lock["packages"] = {package["name"]: package for package in described}
    (target / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    return sorted(present)


def copy_wheel(wheel: Path, target: Path) -> Path:
    """Copy a wheel without what is not used: each file is written into the browser's memory before the first cell."""
    copy = target / wheel.name
    with ZipFile(wheel) as archive, ZipFile(copy, "w", ZIP_DEFLATED) as smaller:
        for entry in archive.infolist():
            if not UNUSED.match(entry.filename):
                smaller.writestr(entry, archive.read(entry))
    return copy


def describe_wheel(wheel: Path) -> dict:
    """Return the entry of a wheel in Pyodide's list of packages."""
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata_name = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        metadata, _ = parse_email(archive.read(metadata_name))
    environment = {**default_environment(), "sys_platform": "emscripten", "platform_system": "Emscripten"}
    environment |= {"python_version": "3.14", "python_full_version": "3.14.2", "extra": ""}
    required = map(Requirement, metadata.get("requires_dist", []))
    top_level = {name.split("/")[0].removesuffix(".py") for name in names}
    return {
        "name": canonicalize_name(metadata["name"]),
        "version": metadata["version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(name for name in top_level if name.isidentifier() and name != "__pycache__"),
        "depends": [
            canonicalize_name(one.name) for one in required if not one.marker or one.marker.evaluate(environment)
        ],
        "unvendored_tests": False,
    }


def write_configuration(source: Path, names: list[str], extensions: list[Path]) -> None:
    """Write the settings of the build, and those of the site."""
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.mjs",
        "loadPyodideOptions": {"lockFileURL": "./static/pyodide/pyodide-lock.json", "packages": names},
    }
    site = {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {"appName": "nbtool", "litePluginSettings": {KERNEL_PLUGIN: kernel}},
    }
    (source / "jupyter-lite.json").write_text(json.dumps(site), encoding="utf-8")
    settings = {
        "LiteBuildConfig": {
            "contents": ["files"],
            "no_libarchive": True,
            "federated_extensions": [str(path.resolve()) for path in extensions],
        }
    }
    (source / "jupyter_lite_config.json").write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
