"""The flags of a cell's line."""

from __future__ import annotations

import pytest

from nbtool.magics.flags.flag_parser import cell_parser, parse

LISTS = [flag.option_strings[-1] for flag in cell_parser().flags() if flag.nargs == "+"]


@pytest.mark.parametrize("flag", LISTS)
def test_a_list_flag_that_is_repeated_adds_to_its_list(flag: str) -> None:
    parser = cell_parser()
    once = vars(parse(parser, f"{flag} a=1 b=2"))

    assert vars(parse(parser, f"{flag} a=1 {flag} b=2")) == once
    assert vars(parse(parser, ""))[next(name for name, value in once.items() if value)] == []
