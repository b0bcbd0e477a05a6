"""Every promise has tests, and every test that holds one names a promise that is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def promised_ids() -> list[str]:
    """The promises' ids, as docs/promises.md lists them."""
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([\w-]+)` \| ", text, flags=re.MULTILINE)


def ids_of_tests() -> Iterator[tuple[str, str]]:
    """Every test that names a promise, with its id."""
    for file in (ROOT / "tests").rglob("test_*.py"):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            for mark in function.decorator_list:
                if ast.unparse(mark).startswith("pytest.mark.promise("):
                    assert isinstance(mark, ast.Call)
                    assert isinstance(mark.args[0], ast.Constant)
                    yield str(mark.args[0].value), function.name


def test_every_promise_is_held_by_a_test_and_every_mark_names_a_promise() -> None:
    ids = promised_ids()

    assert len(ids) == len(set(ids)) >= 25
    assert {promise for promise, _ in ids_of_tests()} == set(ids)


def test_only_tests_hold_promises() -> None:
    assert [name for _, name in ids_of_tests() if not name.startswith("test_")] == []


def test_the_threats_point_to_files_that_are_there() -> None:
    text = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8").split("## Where each defence is implemented")[1]
    named = re.findall(r"`((?:nbtool|js)/[\w/*.]+)`", text)

    assert len(named) >= 8
    assert [name for name in named if not any(ROOT.glob(name.rstrip("/")))] == []
