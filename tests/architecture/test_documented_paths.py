"""Every file and test of the project that a document names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("tests/**/*.md")])
PATH = re.compile(
    r"(?<!xdg/)(?<!Application Support/)"  # of the system, as the policy's
    r"\b(?:nbtool|tests|js|docs|notebooks|bench)/[\w./*-]*\w\.(?:py|pyi|tsx?|mjs|json|toml|c|md|ipynb|png|svg|gif)\b"
)

TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def missing_paths(text: str) -> list[str]:
    """Return the paths in a text that match no file of the project."""
    return sorted({path for path in PATH.findall(text) if not any(ROOT.glob(path))})


def missing_tests(text: str) -> list[str]:
    """Return the tests in a text, as `FILE::NAME`, that the project does not have."""
    return sorted(
        f"{file}::{name}"
        for file, name in TEST.findall(text)
        if not (ROOT / file).is_file() or f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    assert missing_paths(document.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    assert missing_tests(document.read_text(encoding="utf-8")) == []


def test_a_test_that_does_not_exist_is_found() -> None:
    text = "`tests/architecture/test_prose.py::test_no_such` and `tests/no_such.py::test_this`"

    assert missing_tests(text) == ["tests/architecture/test_prose.py::test_no_such", "tests/no_such.py::test_this"]


def test_a_path_that_does_not_exist_is_found() -> None:
    text = "See `nbtool/chat/chat.py`, nbtool/no/such.py:Name, and [this](docs/no_such.md)."

    assert missing_paths(text) == ["docs/no_such.md", "nbtool/no/such.py"]
