"""What is too long is cut by one function that says how much it leaves out; every other cut has its reason here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.architecture.cuts import read_cuts

PACKAGE = Path(__file__).parents[2] / "nbtool"

TABLE = tomllib.loads(Path(__file__).with_name("cuts.toml").read_text(encoding="utf-8"))
CUTS = list(read_cuts(PACKAGE))
PLACES = {place for group in TABLE.values() for place in group["places"]}


def test_every_cut_of_the_package_says_what_it_leaves_out_or_has_its_reason_here() -> None:
    found = {place for place, _, _ in CUTS}

    assert (found - PLACES, PLACES - found) == (set(), set())


@pytest.mark.parametrize("place", TABLE["counted"]["places"])
def test_where_a_list_is_cut_its_module_says_how_many_more_there_are(place: str) -> None:
    (source,) = {source for found, _, source in CUTS if found == place}

    assert re.search(r"left.out|more|omitted|has_cut|\} of \{|of the first|last lines|is_whole", source)


@pytest.mark.parametrize(
    "source", ["text[:MAX_SHOWN]", "text[:200]", "lines[-MAX_LINES:]", "islice(rows, 9)", "text[: limit - 1]"]
)
def test_a_new_cut_is_seen(tmp_path: Path, source: str) -> None:
    (tmp_path / "new.py").write_text(f"def write(text):\n    return {source}\n", encoding="utf-8")

    assert [place for place, _, _ in read_cuts(tmp_path)] == ["new:write"]
