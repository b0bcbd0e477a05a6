"""docs/values.md is what a model reads of each kind of value, in each place, whatever the version of its library."""

from __future__ import annotations

import os

import pytest

from tests.tools.values.value_table import KINDS, PAGE, Kind, page, row

RECORDS = bool(os.environ.get("NBTOOL_RECORD"))
ROWS = [kind for kinds in KINDS.values() for kind in kinds]


@pytest.mark.skipif(not RECORDS, reason="The page is written on request only.")
def test_the_page_is_written() -> None:
    PAGE.write_text(page(), "utf-8")


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.code)
def test_the_row_of_a_value_is_what_is_read_of_it(kind: Kind) -> None:
    assert row(kind) in PAGE.read_text("utf-8").splitlines()
    assert " at 0x" not in row(kind)


def test_the_page_has_these_rows_and_no_others() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]

    assert len(rows) == len(ROWS)
