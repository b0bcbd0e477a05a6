from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import BadUsage
from nbtool.magics.flags.byte_size import parse_byte_size
from nbtool.magics.flags.config import NbTool
from tests.magics.commands.saying import run_command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4000000", 4_000_000), ("4_000_000", 4_000_000), ("1GB", 10**9), ("500 MB", 500 * 10**6), ("1.5kb", 1_500),
        ("256MiB", 256 * 1024**2), ("2g", 2 * 10**9), ("12 bytes", 12), ("1TiB", 1024**4),
    ],
)  # fmt: skip
def test_a_size_may_have_a_unit(text: str, expected: int) -> None:
    assert parse_byte_size(text) == expected
    assert NbTool(result_bytes=text).result_bytes == expected


@pytest.mark.parametrize("text", ["", "much", "-1", "1PB", "1iB", "GB", "1 2", "1e9", "٣"])
def test_what_is_no_size_is_refused_with_valid_ones(text: str) -> None:
    with pytest.raises(BadUsage, match=r"is not a size: expected .* 500MB, 1GB, 256MiB"):
        parse_byte_size(text)


def test_the_bound_in_force_is_shown_with_its_unit(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(shell, "config result_bytes", capsys) == "268 MB, 268,435,456 bytes (default)\n"
    assert run_command(shell, "config result_bytes 500 MB", capsys) == "result_bytes: 500 MB, 500,000,000 bytes\n"
    assert "of 500 MB in total" in run_command(shell, "status", capsys)
    assert "500 MB, 500,000,000 bytes  (%config NbTool.result_bytes)" in run_command(shell, "config", capsys)


def test_too_small_a_bound_is_refused_with_the_least_one() -> None:
    with pytest.raises(BadUsage, match=r"result_bytes cannot be '0' \(the least value is 1\)"):
        NbTool().change("result_bytes", "0")


def test_a_bound_that_is_set_back_is_that_of_the_chat(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("from nbtool import Chat\nmine = Chat('practice:fast', result_bytes=4_000_000)\n%chat open mine")
    for value, expected in (("1GB", "1 GB"), ("default", "4 MB"), ("2MB", "2 MB"), ("default", "4 MB")):
        run_command(shell, f"config result_bytes {value}", capsys)
        assert f"of {expected} in total" in run_command(shell, "status", capsys)
    assert run_command(shell, "config result_bytes", capsys).startswith("4 MB, 4,000,000 bytes ")


@pytest.mark.parametrize("words", ["much", "0", "1 XB"])
def test_a_bound_that_is_no_size_is_refused_in_one_line(
    shell: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert not shell.run_cell(f"%chat config result_bytes {words}").success

    shown = capsys.readouterr().err
    assert len(shown.strip().splitlines()) == 1
    assert "such as `1GB`" in shown
