"""The compatibility table of the docs names tests that exist, and is what their last run found."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.compat import tools
from tests.compat.where import FOUND, PAGE, PLACES
from tests.compat.where import rows as rows_found

ROOT = Path(__file__).parents[2]


def rows() -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "][
        1:
    ]


def test_the_table_of_places_is_what_its_tests_were_found_to_do() -> None:
    found = json.loads(FOUND.read_text(encoding="utf-8"))

    assert rows_found(found) in PAGE.read_text(encoding="utf-8"), "`make bench BENCH=places` writes the table"
    for place in PLACES:
        assert found["rows"].get(place.where, {"tests": 0})["tests"] >= len(place.tests), place.where


def test_the_table_of_tools_is_what_its_tests_were_found_to_do() -> None:
    found = json.loads(tools.FOUND.read_text(encoding="utf-8"))

    assert tools.rows(found) in PAGE.read_text(encoding="utf-8"), "`make bench BENCH=places` writes the table"
    for tool in tools.TOOLS:
        assert found["rows"].get(tool.name, {"tests": 0})["tests"] >= len(tool.tests), tool.name
        assert all((ROOT / test.partition("::")[0]).is_file() for test in tool.tests), tool.name


def test_each_place_names_the_tests_that_try_it_or_says_that_none_does() -> None:
    tests_of = {row[0]: (row[3], row[4]) for row in rows()}

    assert len(tests_of) >= 10
    for place, (how, tried) in tests_of.items():
        files = [ROOT / name for name in re.findall(r"`(tests/[\w/]+\.py)`", tried)]
        assert all(file.is_file() for file in files), place
        assert how == "not tried" if not files else how in ("tried", "simulated"), place
        assert ("(nightly)" in tried) <= any("nightly" in file.read_text(encoding="utf-8") for file in files), place
