from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import BadUsage
from nbtool.magics.flags.flag_parser import MAX_LINE, MAX_WORDS, parse
from nbtool.magics.flags.flag_table import cell_parser


@pytest.mark.parametrize(
    ("line", "what"),
    [("-s " + "a" * MAX_LINE, "characters"), ("-v " + "a " * MAX_WORDS, "words")],
)
def test_a_line_that_is_too_long_is_refused(line: str, what: str) -> None:
    with pytest.raises(BadUsage, match=f"{what}, above"):
        parse(cell_parser(), line)


def test_a_line_of_a_command_that_is_too_long_is_refused_in_one_line(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%chat tools " + "a" * MAX_LINE)
    actual = capsys.readouterr()

    assert f"characters, above {MAX_LINE:,}" in actual.out + actual.err
