"""Cells and lines of the magics, whatever IPython would make of their text."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nbtool.magics.notebook.own_magic import OwnMagic

NO_BREAK, NO_WIDTH, MARK = "\u00a0", "\u200b", "\ufeff"


def said(shell: Any, cell: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(cell)
    output = capsys.readouterr()
    return output.out + output.err


@pytest.mark.parametrize(
    "line",
    [
        "fix why did it fail?",
        "fix why did it fail??",
        "fix why doesn't it work?",
        "fix what is f( for?",
        'fix "why"?',
        f"fix{NO_BREAK}why?",
        "-c main fix isn't it?",
    ],
)
def test_a_command_may_end_with_a_question(shell: Any, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    actual = said(shell, f"%chat {line}", capsys)

    assert "Object `" not in actual
    assert "cannot be parsed" not in actual
    assert "not found" not in actual


def test_the_words_of_a_question_are_sent(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("x = 1", store_history=True)
    actual = said(shell, "%chat explain --dry-run why doesn't it work?", capsys)

    assert "why doesn't it work?" in actual


@pytest.mark.parametrize("form", ["%chat?", "%chat??", "%%chat?"])
def test_a_request_for_help_is_left_to_ipython(shell: Any, form: str) -> None:
    assert "pinfo" in shell.transform_cell(form)


def test_questions_in_a_block_and_texts_of_several_lines_are_distinguished(shell: Any) -> None:
    cell = "if True:\n    %chat explain why?\ntext = '''\n%chat fix why?\n%%chat\n'''\n"
    actual = shell.transform_cell(cell)

    assert "    get_ipython().run_line_magic('chat', 'explain why?')\n" in actual
    assert "\n%chat fix why?\n%%chat\n" in actual


@pytest.mark.parametrize(
    "above",
    [
        "",
        "# a note\n",
        "#@title Ask the model\n",
        "\n\n# %%\n\n# Ask\n",
        "  # indented\n",
        MARK,
        f"{NO_BREAK}\n",
        "#\n" * 50,
    ],
)
def test_comments_above_a_cell_magic_are_allowed(shell: Any, above: str) -> None:
    assert shell.run_cell(f"{above}%%chat -q -m practice:fast -o answer\nHello").success
    assert shell.user_ns["answer"].prompt.text == "Hello"


@pytest.mark.parametrize("above", ["x = 1\n", "# a note\nx = 1\n", "%matplotlib inline\n", "if True:\n    pass\n"])
def test_code_above_a_cell_magic_does_not_run_and_the_error_says_what_to_do(
    shell: Any, above: str, capsys: pytest.CaptureFixture[str]
) -> None:
    actual = said(shell, f"{above}%%chat\nIsn't this a prompt?", capsys)

    assert "first line" in actual
    assert "nothing ran" in actual
    assert "x" not in shell.user_ns


@pytest.mark.parametrize("space", [" ", NO_BREAK, "\u3000", "\u2003", "\t", f" {NO_WIDTH}", f"{NO_BREAK} {NO_BREAK}"])
def test_any_space_separates_the_flags(shell: Any, space: str) -> None:
    line = f"%%chat{space}-q{space}-m{space}practice:fast{space}-o{space}answer{space}"

    assert shell.run_cell(f"{line}\nHello").success
    assert shell.user_ns["answer"].prompt.text == "Hello"


def test_a_space_without_a_break_stays_in_quotes(shell: Any) -> None:
    assert shell.run_cell(f'%%chat -q -m practice:fast -s "a{NO_BREAK}b" -o answer\nHello').success
    assert shell.magics_manager.registry["ChatMagics"].chats["main"].system == f"a{NO_BREAK}b"


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ("    def f():\n        return 1\n", "def f():\n    return 1"),
        ("    def f():\n        return 1\nWhy?", "    def f():\n        return 1\nWhy?"),
        ("\n\n  Hello  \n\n", "Hello"),
        ("\tx\n\t\ty", "x\n\ty"),
        (">>> f(1)\n...     2\nWhy?", ">>> f(1)\n...     2\nWhy?"),
        ("Why?\n>>> f(1)\n2", "Why?\n>>> f(1)\n2"),
        ("In [1]: x\n   ...: y", "In [1]: x\n   ...: y"),
        ("A\n   \nB", "A\n   \nB"),
    ],
)
def test_pasted_text_is_sent_as_it_is_but_for_an_indentation_of_all_its_lines(shell: Any, body: str, sent: str) -> None:
    assert shell.run_cell(f"%%chat -q -m practice:fast -o answer\n{body}").success
    assert shell.user_ns["answer"].prompt.text == sent


@pytest.mark.parametrize(
    ("cell", "prompt"),
    [
        ("  %%chat {flags}\n  Hello", "Hello"),
        (">>> %%chat {flags}\n>>> Hello", "Hello"),
        ("In [1]: %%chat {flags}\n   ...: Hello", "Hello"),
    ],
)
def test_a_cell_pasted_with_its_indentation_or_prompts_runs(shell: Any, cell: str, prompt: str) -> None:
    assert shell.run_cell(cell.format(flags="-q -m practice:fast -o answer")).success
    assert shell.user_ns["answer"].prompt.text == prompt


@pytest.mark.parametrize(
    ("source", "is_own"),
    [
        ("%%chat\nHello", True),
        ("# a note\n\n%%chat\nHello", True),
        (f"{MARK}%%chat", True),
        (f"%%chat{NO_BREAK}-q\nHello", True),
        ("%chat status", True),
        ("# a note\n%chat status", False),
        ("%%chatty", False),
        ("x = 1\n%%chat", False),
        ("", False),
    ],
)
def test_a_cell_of_the_magics_is_recognized_as_it_is_run(source: str, *, is_own: bool) -> None:
    assert OwnMagic().matches(source) is is_own


@pytest.mark.parametrize("source", ["\n" * 200_000, "#\n" * 200_000, " " * 200_000, MARK * 200_000, "# " * 200_000])
def test_a_long_cell_is_looked_at_in_linear_time(source: str) -> None:
    began = time.process_time()
    OwnMagic().matches(source)
    OwnMagic().split(source.splitlines(keepends=True))

    assert time.process_time() - began < 2


def test_a_terminal_asks_for_more_lines_below_the_magic_and_none_below_a_question(shell: Any) -> None:
    check = shell.input_transformer_manager.check_complete

    assert check("%%chat\nHello")[0] == "incomplete"
    assert check("%chat fix why?")[0] == "complete"
