"""Each text of the topics is one that a test makes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOPICS = sorted(path.stem for path in (HERE / "snapshots").glob("*.txt"))
NAME = re.compile(r"^# name: (\w+)", re.MULTILINE)


def unused_texts(snapshot: str, source: str) -> list[str]:
    """Return the names of the texts of a topic that no test has."""
    tests = {one.name for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)}
    return [name for name in NAME.findall(snapshot) if name not in tests]


@pytest.mark.every_case
@pytest.mark.parametrize("topic", TOPICS)
def test_every_text_is_made_by_a_test(topic: str) -> None:
    snapshot = (HERE / "snapshots" / f"{topic}.txt").read_text(encoding="utf-8")
    source = (HERE / f"test_{topic}.py").read_text(encoding="utf-8")

    assert NAME.findall(snapshot)
    assert unused_texts(snapshot, source) == []


def test_a_text_whose_test_no_longer_exists_is_found() -> None:
    snapshot = "# name: test_a\n> x\n# ---\n# name: test_b[1]\n> y\n"

    assert unused_texts(snapshot, "def test_a() -> None: ...") == ["test_b"]
