from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMES_WITH = {
    "pydantic_core": "pydantic",
    "typing_extensions": "pydantic",
    "traitlets": "ipython",
    "comm": "ipywidgets",
    "httpx2": "mcp",
    "jsonschema": "mcp",
    "mcp_types": "mcp",
}
"""Packages that a declared one brings in a version of its own choice, and speaks through."""

IN_THE_KERNEL = {"ipykernel", "zmq"}
"""Imported only where the process is a kernel already, so they are there."""

FOR_THE_FLOOR = {"ipywidgets"}
"""Declared though another package brings it: the oldest version that will do is ours to say."""

FOR_OTHERS = {"sniffio"}
"""Imported by another package, httpcore, only where it is there; without it that package is slower."""

LOADED_BY = {"pytest"}
"""Imported only by a module that the package itself loads, by an entry point."""

IN_THE_BROWSER = {"js", "pyodide"}
"""Imported only in a browser, whose Python has them."""

OF_THE_USER = {"cloudpickle", "distributed", "matplotlib", "numpy", "pandas", "PIL", "polars"}
"""Never required: met only where the person's own objects are made of them, or their cluster runs on them."""

OWN_PROGRAMS = {"stdio_messages"}
"""Modules of the package that a program beside them, which has no packages, loads from its folder."""


def declared_packages() -> set[str]:
    project = PROJECT["project"]
    extras = [line for lines in project.get("optional-dependencies", {}).values() for line in lines]
    return {re.split(r"[^\w-]", line)[0].lower().replace("-", "_") for line in [*project["dependencies"], *extras]}


def targets_of(source: str) -> Iterator[str]:
    """Give the modules that a module imports from other packages: lazily, for types only, or by name, too."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name


def imported_packages() -> set[str]:
    sources = (file.read_text(encoding="utf-8") for file in (ROOT / "nbtool").rglob("*.py"))
    tops = {target.partition(".")[0] for source in sources for target in targets_of(source)}
    elsewhere = OWN_PROGRAMS | IN_THE_KERNEL | IN_THE_BROWSER | LOADED_BY | OF_THE_USER
    return tops - set(sys.stdlib_module_names) - {"nbtool"} - elsewhere


def distribution(module: str) -> str:
    names = {
        "acp": "agent_client_protocol",
        "dotenv": "python_dotenv",
        "markdown_it": "markdown_it_py",
        "opentelemetry": "opentelemetry_api",
    }
    return names.get(module, COMES_WITH.get(module, module)).lower()


def test_every_package_that_is_imported_is_declared() -> None:
    assert {distribution(module) for module in imported_packages()} <= declared_packages()


def test_every_package_that_is_declared_is_imported() -> None:
    imported = {distribution(module) for module in imported_packages()}

    assert declared_packages() <= imported | FOR_THE_FLOOR | FOR_OTHERS


def test_the_lock_files_pin_every_package_that_is_declared_and_name_no_registry() -> None:
    for name in ("requirements.lock", "requirements-ipykernel6.lock"):
        lock = (ROOT / name).read_text(encoding="utf-8")
        pinned = {line.partition("==")[0].replace("-", "_") for line in lock.splitlines() if "==" in line}

        assert declared_packages() <= pinned
        assert "://" not in lock
