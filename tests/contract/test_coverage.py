"""Every promise and every feature has a contract test, every mark names one, and the tests use only what is public."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACT = Path(__file__).parent

PUBLIC = {
    "nbtool", "nbtool.errors", "nbtool.wire", "nbtool.plugins", "nbtool.toolsets", "nbtool.tools.mcp", "nbtool.testing",
}  # fmt: skip
"""The modules whose names a user has; a name of another one is nobody's but nbtool's."""

LIBRARIES = {
    "IPython", "httpx2", "jupyter_client", "markdown_it", "mcp", "nbclient", "nbformat", "numpy", "pandas", "pydantic",
    "pytest", "traitlets",
}  # fmt: skip
"""The packages of others with which the tests act as a person or a program does."""

ONLY_IN_A_PAGE = {
    "let the model edit and run cells",
    "run one prompt over a table, with a progress bar and a *Stop* button",
    "seen-question",
    "shown-cells",
    "use a result in the notebook",
}
"""Rows of which a part is done in a page: tests of `tests/browser` are marked with these, and with no other feature."""


def modules() -> list[tuple[Path, ast.Module]]:
    """Parse every file of the folder."""
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(CONTRACT.rglob("*.py"))]


def imported(tree: ast.Module) -> Iterator[str]:
    """Give every module that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write the whole name of a module"
            yield node.module or ""


def is_allowed(module: str) -> bool:
    """Whether a contract test may import a module."""
    top = module.partition(".")[0]
    if top in {"nbtool", "tests"}:
        return module in PUBLIC or module.startswith("tests.contract.")
    return top in LIBRARIES or top in sys.stdlib_module_names or top == "__future__"


def private_names(source: str) -> set[str]:
    """Give the private attributes that a file uses, but for those of its own classes (`self._…`)."""
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    names = {node.attr for node in attributes if ast.unparse(node.value) != "self"}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def marked(folder: Path, kind: str) -> set[str]:
    """Give what the tests of a folder are marked with."""
    rows: set[str] = set()
    for path in sorted(folder.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)
        }  # a long row is written once in a file
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{kind}":
                (argument,) = node.args
                rows.add(ast.literal_eval(constants.get(ast.unparse(argument), argument)))
    return rows


def features() -> list[str]:
    """Read the first cell of each row of the tables of features."""
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    section = page.split("\n## Features\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section, flags=re.MULTILINE)
    return [row for row in rows if row != "to"]


def promises() -> list[str]:
    """Read the id of each promise of docs/promises.md."""
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([\w-]+)` \| ", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("kind", "rows"), [("promise", promises()), ("feature", features())], ids=["promise", "feature"]
)
def test_every_row_has_a_contract_test_and_every_mark_names_a_row(kind: str, rows: list[str]) -> None:
    found = marked(CONTRACT, kind)

    assert len(rows) == len(set(rows)) >= 20
    assert {"without a test": sorted(set(rows) - found), "of no row": sorted(found - set(rows))} == {
        "without a test": [], "of no row": [],
    }  # fmt: skip


def test_what_only_a_page_can_show_is_marked_in_the_tests_of_the_browser_too() -> None:
    browser = ROOT / "tests" / "browser"

    assert marked(browser, "feature") | marked(browser, "promise") >= ONLY_IN_A_PAGE
    assert marked(browser, "feature") <= ONLY_IN_A_PAGE


@pytest.mark.parametrize("path", sorted(CONTRACT.rglob("*.py")), ids=lambda path: path.stem)
def test_a_contract_test_imports_only_what_is_public(path: Path) -> None:
    names = set(imported(ast.parse(path.read_text(encoding="utf-8"))))

    assert sorted(name for name in names if not is_allowed(name)) == []


@pytest.mark.parametrize("path", sorted(CONTRACT.rglob("*.py")), ids=lambda path: path.stem)
def test_a_contract_test_uses_no_private_name(path: Path) -> None:
    assert private_names(path.read_text(encoding="utf-8")) <= {"_repr_mimebundle_"}


def test_a_private_name_would_be_found() -> None:
    assert private_names("chat._calls(); self._own(); turn.__class__") == {"_calls"}


def test_cells_use_only_flags_and_commands_that_are_documented() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").split("\n## Settings\n")[0]
    documented = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", page)) | set(
        re.findall(r"^\| `([a-z]+)`", page, flags=re.MULTILINE)
    )
    used: set[str] = set()
    for _, tree in modules():
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        flags = [node.args[1] for node in calls if ast.unparse(node.func).endswith(".ask") and len(node.args) > 1]
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        lines = [line for text in texts for line in re.findall(r"^%%?chat\b(.*)", text, flags=re.MULTILINE)]
        lines += [ast.unparse(one) for one in flags]
        used |= {flag for line in lines for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", line)}
        used |= {
            word for text in texts for word in re.findall(r"^%chat (?:-c \S+ )?([a-z]+)", text, flags=re.MULTILINE)
        }

    former = {"--rerun :resume"}  # which the notice of an interrupted turn names
    assert sorted(used - documented - former - {"--nonsense", "nonsense", "statsu"}) == []


def test_a_contract_test_does_not_sleep() -> None:
    for path, tree in modules():
        calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not any(name.endswith("sleep") and "asyncio" not in name for name in calls), path.name
