"""Reads the import rules from CONTRIBUTING.md and the imports from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PACKAGE = "nbtool"


class Import(NamedTuple):
    """One import: who imports what, and where it stands."""

    importer: str
    target: str
    where: str


@dataclass(frozen=True)
class Rules:
    """What each part may import (None: everything), and through which parts each outside package comes in."""

    allowed: dict[str, frozenset[str] | None]
    doors: dict[str, frozenset[str]]

    def complaint(self, found: Import) -> str | None:
        """Say what is wrong with an import; None where nothing is."""
        top = found.target.partition(".")[0]
        if top in self.doors and not any(_inside(found.importer, f"{PACKAGE}.{door}") for door in self.doors[top]):
            return f"{found.where}: {top} comes in only through {', '.join(sorted(self.doors[top]))}"
        if top != PACKAGE or found.importer == PACKAGE:
            return None
        row = self._row(found.importer)
        if row is None:
            return f"{found.where}: {found.importer} stands in no row of the table in CONTRIBUTING.md"
        permitted = self.allowed[row]
        targets = [*(permitted or ()), row]
        if permitted is None or any(_inside(found.target, f"{PACKAGE}.{target}") for target in targets):
            return None
        return f"{found.where}: {row} may not import {found.target}"

    def _row(self, importer: str) -> str | None:
        rows = [row for row in self.allowed if _inside(importer, f"{PACKAGE}.{row}")]
        return max(rows, key=len, default=None)


def read_rules(document: str) -> Rules:
    """Read both tables and the meaning of *words* from the text of CONTRIBUTING.md."""
    words = _names(document.partition("*words* are ")[2].partition("\n\n")[0])
    allowed: dict[str, frozenset[str] | None] = {}
    for parts, cell in _table(document, "part", "may import"):
        permitted = _names(cell) | (words if "words" in cell else frozenset())
        allowed |= dict.fromkeys(_names(parts), None if "everything" in cell else permitted)
    doors = {
        name: _names(cell) for packages, cell in _table(document, "package", "only in") for name in _names(packages)
    }
    return Rules(allowed, doors)


def read_imports(root: Path) -> list[Import]:
    """Give every import in a package's source: lazy ones, those for types, and those by name."""
    files = {_module(file.relative_to(root.parent)): file for file in sorted(root.rglob("*.py"))}
    return [
        Import(name, target, f"{file.relative_to(root.parent)}:{line}")
        for name, file in files.items()
        for target, line in _targets(file, name, set(files))
    ]


def find_cycles(imports: list[Import]) -> list[list[str]]:
    """Give the groups of modules that import each other, by whatever way round."""
    edges: dict[str, set[str]] = {}
    for found in imports:
        if found.target.partition(".")[0] == PACKAGE and found.importer != found.target:
            edges.setdefault(found.importer, set()).add(found.target)
    reach = {module: _reachable(module, edges) for module in edges}
    groups = {
        tuple(sorted(other for other in reach if other in reach[module] and module in reach[other])) for module in reach
    }
    return [list(group) for group in sorted(groups) if group]


def _targets(file: Path, importer: str, modules: set[str]) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), file.name)):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = _absolute(module or "", level, importer, is_package=file.name == "__init__.py")
                for alias in names:
                    deeper = f"{base}.{alias.name}"
                    yield (deeper if deeper in modules else base), node.lineno
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield name, node.lineno


def _absolute(module: str, level: int, importer: str, *, is_package: bool) -> str:
    if not level:
        return module
    parts = importer.split(".")
    parents = parts[: len(parts) - level + is_package]
    return ".".join([*parents, module] if module else parents)


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(edges[start])
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            ahead.extend(edges.get(module, ()))
    return seen


def _table(document: str, *header: str) -> list[tuple[str, str]]:
    _, _, below = document.partition(f"| {' | '.join(header)} |\n")
    rows = below.partition("\n\n")[0].splitlines()[1:]
    return [(first, second) for first, second in (row.strip("| ").split(" | ") for row in rows)]


def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"`([\w.]+)`", text))


def _module(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _inside(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")
