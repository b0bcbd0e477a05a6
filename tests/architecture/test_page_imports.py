"""The imports of the page's script keep to the table in docs/development.md, and form no cycle."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "js" / "src"
IMPORT = re.compile(r"""\b(?:from|import)\s*\(?\s*["'](\.[^"']*)["']""")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$")


def read_table(document: str) -> dict[str, frozenset[str]]:
    """Read which parts of the script each part may import."""
    lines = document.partition("| `js/src` | imports |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    rows = [found for line in lines if (found := ROW.match(line))]
    assert len(rows) == len(lines)
    return {part: frozenset(names(row[2])) for row in rows for part in names(row[1])}


def names(cell: str) -> list[str]:
    """Return the names in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def read_graph(root: Path) -> dict[str, set[str]]:
    """Return the files that each file of the script imports, as paths below `root`; types count too."""
    files = [file for file in sorted(root.rglob("*")) if file.suffix in (".ts", ".tsx")]
    return {
        file.relative_to(root).as_posix(): {
            resolve(root, file, target)
            for target in IMPORT.findall(file.read_text(encoding="utf-8"))
            if not target.endswith((".css", ".json"))
        }
        for file in files
    }


def resolve(root: Path, file: Path, target: str) -> str:
    """Return the file that an import names."""
    path = (file.parent / target).resolve()
    options = [path.parent / (path.name + end) for end in (".ts", ".tsx", "/index.ts", "/index.tsx")]
    return next(option for option in options if option.is_file()).relative_to(root.resolve()).as_posix()


def part_of(file: str) -> str:
    """Return the folder or file directly below `js/src`."""
    return file.partition("/")[0]


def find_breaches(graph: dict[str, set[str]], table: dict[str, frozenset[str]]) -> list[str]:
    """Return the imports that the table does not allow, and the parts that it does not have."""
    return [
        f"{file} imports {target}"
        for file, targets in graph.items()
        for target in sorted(targets)
        if part_of(file) != part_of(target) and part_of(target) not in table.get(part_of(file), frozenset())
    ]


def test_every_import_of_the_page_keeps_to_the_table() -> None:
    table = read_table((ROOT / "docs" / "development.md").read_text(encoding="utf-8"))
    graph = read_graph(SOURCES)

    assert find_breaches(graph, table) == []
    assert {part_of(file) for file in graph} == set(table)


def test_every_row_of_the_table_of_the_page_is_in_use() -> None:
    table = read_table((ROOT / "docs" / "development.md").read_text(encoding="utf-8"))
    used = {(part_of(file), part_of(target)) for file, targets in read_graph(SOURCES).items() for target in targets}

    assert [(part, other) for part, others in table.items() for other in others if (part, other) not in used] == []


def test_no_files_of_the_page_import_each_other() -> None:
    TopologicalSorter(read_graph(SOURCES)).prepare()


def test_the_parts_of_the_page_form_no_cycle() -> None:
    TopologicalSorter(read_table((ROOT / "docs" / "development.md").read_text(encoding="utf-8"))).prepare()


def test_a_wrong_import_and_a_cycle_are_found(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "views").mkdir()
    (tmp_path / "text" / "a.ts").write_text('import type { B } from "../views/b";\n')
    (tmp_path / "views" / "b.tsx").write_text('const a = await import("../text/a");\n')
    graph = read_graph(tmp_path)

    assert find_breaches(graph, {"views": frozenset({"text"})}) == ["text/a.ts imports views/b.tsx"]
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def test_the_widget_manager_is_read_for_the_notebook_model_and_for_the_control_channel_alone() -> None:
    readers = [file for file in SOURCES.rglob("*.ts*") if ".widget_manager" in file.read_text(encoding="utf-8")]

    assert {file.relative_to(SOURCES).as_posix() for file in readers} == {
        "notebook/notebookModel.ts",
        "kernel/control.ts",
    }


def test_the_kernel_is_talked_to_in_one_file() -> None:
    senders = [file for file in SOURCES.rglob("*.ts*") if "model.send(" in file.read_text(encoding="utf-8")]

    assert [file.relative_to(SOURCES).as_posix() for file in senders] == ["kernel/channel.ts"]
