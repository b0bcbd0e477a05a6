"""What the README says is tried, is tried."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def rows() -> list[list[str]]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.split("## Where it runs")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "][
        1:
    ]


def test_each_place_names_the_tests_that_try_it_or_says_that_none_does() -> None:
    told = {row[0]: row[3] for row in rows()}

    assert len(told) >= 10
    for place, tried in told.items():
        files = [ROOT / name for name in re.findall(r"`(tests/[\w/]+\.py)`", tried)]
        assert all(file.is_file() for file in files), place
        assert files or tried == "not tried", place
        assert ("(nightly)" in tried) <= any("nightly" in file.read_text(encoding="utf-8") for file in files), place
