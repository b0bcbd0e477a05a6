from __future__ import annotations

import pytest

from nbtool.blocks.sanitize import STACK_LIMIT, escape_invisible, one_line, strip_stacks, without_controls


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;https://evil.example\x07link\x1b]8;;\x07", "link"),
        ("\x1b]52;c;cm0gLXJm\x1b\\copied", "copied"),
        ("\x1bPq#0;2;0;0;0\x1b\\sixel", "sixel"),
        ("a\x9b31mb", "a31mb"),
        ("back\x08space\x7f", "backspace"),
        ("line\r\nline\tend", "line\nline\tend"),
        ("unfinished \x1b[", "unfinished "),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
    ],
)
def test_no_control_sequence_reaches_a_reader(dirty: str, clean: str) -> None:
    assert without_controls(dirty) == clean


def test_text_without_controls_stays_as_it_is() -> None:
    text = "naïve 日本語 👩‍🔬 \t\n$x$"

    assert without_controls(text) == text


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("a\u202eb", "a\\u{202e}b"),
        ("a\u200bb", "a\\u{200b}b"),
        ("a\u2066b\u2069", "a\\u{2066}b\\u{2069}"),
        ("a\U000e0041b", "a\\u{e0041}b"),
        ("a\u3164b", "a\\u{3164}b"),
        ("a\x1b[1mb", "a\\u{001b}[1mb"),
        ("plain\ttext\n", "plain\ttext\n"),
    ],
)
def test_what_is_invisible_is_written_as_an_escape(hidden: str, shown: str) -> None:
    assert escape_invisible(hidden) == shown


def test_a_long_text_becomes_one_short_line() -> None:
    line = one_line("word\n" * 1000, 40)

    assert len(line) == 40
    assert line.endswith("…")
    assert "\n" not in line


def test_a_stack_of_combining_marks_is_cut_and_says_so() -> None:
    stack = "\u0301" * 1_000

    assert strip_stacks(f"a{stack}b") == "a" + "\u0301" * STACK_LIMIT + "[… 984 combining marks more]b"
    assert strip_stacks("a" + "\u0301" * STACK_LIMIT) == "a" + "\u0301" * STACK_LIMIT
    assert strip_stacks("\U0001f989" * 100) == "\U0001f989" * 100
