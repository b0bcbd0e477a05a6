"""Write docs/reports.md: the situations of public reports, from the docstrings of the tests that build them.

Usage: python docs/reports.py [--check]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reports.md"
PATTERNS = ("tests/reports/test_*.py", "tests/browser/test_reported_*.py")
"""The files of such tests: those that need a page are beside the other tests of the browser."""

HEAD = """# Public reports

What people reported of other projects, tried here: each row is a test in `tests/reports/`, or where it needs a page in
`tests/browser/`, that builds the situation and checks what is right for nbtool. *Before* is what nbtool did when the
report was looked up: *right*, or *wrong*, also where it had no way to do it; the change that came with the test made it
right. How such tests are made is in [development.md](development.md#public-reports). `make docs` writes this
page from their docstrings.
"""

FORM = '"""owner/repo#123, owner/repo#4: the situation. Right: the right value. Before: wrong."""'
"""The form of a docstring; the last word is `wrong` or `right`."""

_SOURCE = r"[\w.-]+/[\w.-]+#[1-9]\d*"
_FORM = re.compile(
    rf"(?P<sources>{_SOURCE}(?:, {_SOURCE})*): (?P<situation>\S.*?[.!?]) "
    r"Right: (?P<right>\S.*?\.) Before: (?P<before>wrong|right)\."
)


class Report(NamedTuple):
    """One situation: where it was reported, what is right, and whether nbtool was right before."""

    sources: tuple[str, ...]
    situation: str
    right: str
    before: str


class Topic(NamedTuple):
    """The reports of one file."""

    path: Path
    title: str
    reports: tuple[Report, ...]


def parse_report(docstring: str) -> Report | None:
    """Return what a docstring says; None if it does not have the form."""
    found = _FORM.fullmatch(" ".join(docstring.split()))
    if found is None:
        return None
    return Report(tuple(found["sources"].split(", ")), found["situation"], found["right"], found["before"])


def tests_of(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the tests of a file, in their order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node


def report_files() -> list[Path]:
    """Return the files of the tests, a topic each."""
    return sorted((path for pattern in PATTERNS for path in ROOT.glob(pattern)), key=lambda path: path.name)


def topics() -> tuple[list[Topic], list[str]]:
    """Return the topics, and the tests whose docstrings do not have the form."""
    found, wrong = [], []
    for path in report_files():
        tree = ast.parse(path.read_text("utf-8"))
        parsed = [(test.name, parse_report(ast.get_docstring(test) or "")) for test in tests_of(tree)]
        wrong += [f"{path.relative_to(ROOT).as_posix()}::{name}" for name, report in parsed if report is None]
        title = path.stem.removeprefix("test_").removeprefix("reported_").replace("_", " ").capitalize()
        found.append(Topic(path, title, tuple(report for _, report in parsed if report is not None)))
    return found, wrong


def page(found: list[Topic]) -> str:
    """Return the page: how many there are, and a table for each topic."""
    reports = [report for topic in found for report in topic.reports]
    sources = {source for report in reports for source in report.sources}
    counts = Counter(report.before for report in reports)
    total = (
        f"{len(reports)} situations of {len(sources)} reports; nbtool was wrong in {counts['wrong']} of them before."
    )
    return f"{HEAD}\n{total}\n" + "".join(_table(topic) for topic in found)


def _table(topic: Topic) -> str:
    about = (ast.get_docstring(ast.parse(topic.path.read_text("utf-8"))) or "").split("\n\n")[0]
    head = ["", f"## {topic.title}", "", f"`{topic.path.relative_to(ROOT).as_posix()}`: {_cell(about)}", ""]
    rows = [
        f"| {'<br>'.join(map(_link, one.sources))} | {_cell(one.situation)} | {_cell(one.right)} | {one.before} |"
        for one in topic.reports
    ]
    return "\n".join([*head, "| reported | situation | right | before |", "|---|---|---|---|", *rows, ""])


def _link(source: str) -> str:
    repository, _, number = source.partition("#")
    return f"[{source}](https://github.com/{repository}/issues/{number})"


def _cell(text: str) -> str:
    """Return a text for a cell of a table: what is code stays as it is, the rest is no markup."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    plain = (part if part.startswith("`") else re.sub(r"([<>\[\]*_$\\])", r"\\\1", part) for part in parts)
    cell = "".join(plain).replace("|", r"\|")
    return cell[:1].upper() + cell[1:]


def main() -> int | str:
    """Write the page, or check it; return the exit code, or what is wrong."""
    found, wrong = topics()
    if wrong:
        return f"These tests have no docstring of the form {FORM}:\n" + "\n".join(wrong)
    if "--check" not in sys.argv:
        PAGE.write_text(page(found), "utf-8")
        return 0
    return 0 if PAGE.read_text("utf-8") == page(found) else "docs/reports.md is not up to date: run `make docs`."


if __name__ == "__main__":
    sys.exit(main())
