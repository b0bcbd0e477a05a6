"""docs/reports.md lists every situation of a public report, as the docstrings of its test describe it now."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "reports.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_reports", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date_and_every_docstring_has_the_form() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_test_of_the_files_is_a_row(script: ModuleType) -> None:
    listed = (ROOT / "docs" / "reports.md").read_text("utf-8")
    files: list[Path] = script.report_files()

    assert {path.parent.name for path in files} == {"reports", "browser"}
    names = [path.relative_to(ROOT).as_posix() for path in files]
    assert [name for name in names if f"`{name}`: " not in listed] == []
    assert listed.count("](https://github.com/") > len(files) * 5
    tests = [
        test for path in files for test in re.findall(r"^(?:async )?def test_", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(tests) == sum(line.endswith(("| wrong |", "| right |")) for line in listed.splitlines())


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "It works.",
        "owner/repo#1: it failed.",
        "owner/repo#1: it failed. Right: it works.",
        "owner/repo#1: it failed. Right: it works. Before: perhaps.",
        "owner/repo#1: it failed. Before: wrong. Right: it works.",
        "repo#1: it failed. Right: it works. Before: wrong.",
        "owner/repo#0: it failed. Right: it works. Before: wrong.",
        "owner/repo#1, as in #2: it failed. Right: it works. Before: wrong.",
        "owner/repo#1: it failed. Right: it works. Before: wrong. More.",
        "owner/repo#1: Right: it works. Before: wrong.",
    ],
)
def test_another_form_is_refused(script: ModuleType, docstring: str) -> None:
    assert script.parse_report(docstring) is None


def test_a_docstring_is_read_in_its_parts(script: ModuleType) -> None:
    text = "owner/repo#1, a.b/c-d#23: it\n    failed: twice. Right: `a | b`,\n    not c. Before: right."
    report: Any = script.parse_report(text)

    assert report == (("owner/repo#1", "a.b/c-d#23"), "it failed: twice.", "`a | b`, not c.", "right")
