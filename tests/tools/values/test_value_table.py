"""docs/values.md is what a model reads of each kind of value, in each place."""

from __future__ import annotations

import os
from importlib.metadata import version

import pytest

from tests.tools.values.value_table import KINDS, PAGE, Kind, _code, _oldest, page

RECORDS = bool(os.environ.get("NBTOOL_RECORD"))
ROWS = [kind for kinds in KINDS.values() for kind in kinds]


@pytest.mark.skipif(version("pandas") == _oldest("pandas"), reason="The page is written with the newest versions.")
def test_the_page_is_what_is_read_now() -> None:
    if RECORDS:
        PAGE.write_text(page(), "utf-8")

    assert PAGE.read_text("utf-8") == page()


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.code)
def test_each_version_of_a_library_is_read_in_the_same_way(kind: Kind) -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    read = {place: _code(kind.read(place)) for place in kind.places}
    (line,) = [line for line in lines if line.startswith(f"| {_code(kind.code)} | ")]

    assert [text for place, text in read.items() if text not in line and kind.older.get(place) != text] == []


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.code)
def test_no_value_is_read_as_an_address(kind: Kind) -> None:
    assert [place for place in kind.places if " at 0x" in kind.read(place)] == []
