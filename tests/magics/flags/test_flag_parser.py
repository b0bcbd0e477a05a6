"""The flags of a cell's line."""

from __future__ import annotations

import pytest

from nbtool.errors import BadUsage
from nbtool.magics.flags.flag_parser import budget, parse
from nbtool.magics.flags.flag_table import cell_parser

LISTS = [flag.option_strings[-1] for flag in cell_parser().flags() if flag.nargs == "+"]


@pytest.mark.parametrize("flag", LISTS)
def test_a_list_flag_that_is_repeated_adds_to_its_list(flag: str) -> None:
    parser = cell_parser()
    once = vars(parse(parser, f"{flag} a=1 b=2"))

    assert vars(parse(parser, f"{flag} a=1 {flag} b=2")) == once
    assert vars(parse(parser, ""))[next(name for name, value in once.items() if value)] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--new \\", "Remove the backslash at its end: all options stand on one line."),
        ("-q 'x", "Close the quotation mark."),
        ("\N{EN DASH}-new", "Type `--new`."),
        ("\N{EM DASH}new", "Type `--new`."),
        ("\N{EN DASH}q", "Type `-q`."),
        ("\N{LEFT DOUBLE QUOTATION MARK}--new\N{RIGHT DOUBLE QUOTATION MARK}", "Type `--new`."),
        ("-c ''", "expected the name of a chat, not ''"),
        ("-c ' '", "expected the name of a chat, not ' '"),
        ("-M a:b", "Did you mean -m?"),
        ("--Model a:b", "Did you mean --model?"),
        ("--tools f", "Did you mean --tool?"),
        ("-x", "-x. See `%%chat --help`."),
        ("--", "--. See `%%chat --help`."),
        ("--private", "--private. See `%%chat --help`."),
        ("--nosuch", "--nosuch. See `%%chat --help`."),
    ],
)
def test_a_line_that_cannot_be_read_names_what_to_type(line: str, expected: str) -> None:
    with pytest.raises(BadUsage) as refused:
        parse(cell_parser(), line)

    assert expected in str(refused.value)


@pytest.mark.parametrize(
    "text", ["0", "-5", "0.0", "-0.5", "$0", "$-1", "$nan", "$inf", "nan.", "1k", "1e3", "1,000", ""]
)
def test_a_budget_that_allows_nothing_or_no_bound_is_refused_by_its_flag(text: str) -> None:
    with pytest.raises(BadUsage, match="--budget takes a number of tokens or US dollars above 0, not"):
        budget(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", (1, None)), (".5", (None, 0.5)), ("$1", (None, 1.0)), ("1.", (None, 1.0)), (None, (None, None))],
)
def test_a_budget_is_tokens_or_dollars(text: str | None, expected: tuple[int | None, float | None]) -> None:
    assert budget(text) == expected
