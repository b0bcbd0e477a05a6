from __future__ import annotations

from typing import Any

import pytest

from tests.magics.commands.saying import run_command

MAKE = """
class Found(dict):
    pass

@tool(run="auto")
def find() -> Found:
    "Find something."
    return Found(a=[1, 2])
"""


@pytest.fixture
def shell_with_result(shell: Any) -> Any:
    """Give a shell whose chat remembers a result: `find_1_result`."""
    shell.run_cell(MAKE)
    shell.run_cell("%%chat -q -m practice:fast -o answer\nUse &`find`.")
    assert shell.user_ns["answer"].calls[0].reference == "find_1_result"
    return shell


def test_a_result_is_bound_as_the_very_object(shell_with_result: Any, capsys: pytest.CaptureFixture[str]) -> None:
    actual = run_command(shell_with_result, "bind find_1_result things", capsys)

    assert "things" in actual
    assert shell_with_result.user_ns["things"] is shell_with_result.user_ns["answer"].calls[0].result


def test_without_a_name_one_is_made_of_the_reference(
    shell_with_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(shell_with_result, "bind '$VAR_REF{{find_1_result}}'", capsys).startswith("Bound find_1_result")


def test_a_name_that_is_taken_is_taken_only_when_you_say_so(
    shell_with_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell_with_result.run_cell("mine = 7")

    refused = shell_with_result.run_cell("%chat bind find_1_result mine")
    stored = shell_with_result.user_ns["mine"]
    run_command(shell_with_result, "bind find_1_result mine --replace", capsys)

    assert not refused.success
    assert stored == 7
    assert shell_with_result.user_ns["mine"] is shell_with_result.user_ns["answer"].calls[0].result


@pytest.mark.parametrize("words", ["", "nothing", "find_1_result 1x", "find_1_result class", "find_1_result a b"])
def test_what_cannot_be_bound_is_refused(shell_with_result: Any, words: str) -> None:
    before = set(shell_with_result.user_ns)

    assert not shell_with_result.run_cell(f"%chat bind {words}").success
    assert set(shell_with_result.user_ns) == before


def test_a_result_of_another_chat_is_named_with_the_line_that_binds_it(
    shell_with_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell_with_result.run_cell("%%chat -q -c side -m practice:fast\nHello")
    capsys.readouterr()
    shell_with_result.run_cell("%chat -c side bind find_1_result things")
    out = capsys.readouterr()
    text = out.out + out.err

    assert "'find_1_result'" in text
    assert "`%chat bind find_1_result`" in text
    shell_with_result.run_cell("%chat -c main bind nothing_1_result")
    out = capsys.readouterr()
    assert "'nothing_1_result'" in out.out + out.err
    assert "-c NAME" in run_command(shell_with_result, "help", capsys)


@pytest.mark.parametrize("name", ["find_1_result", "find_1"])
@pytest.mark.parametrize("line", ["", "-v {}", "--read {}"])
def test_a_cell_takes_a_result_by_its_own_name_and_by_the_one_that_binds_it(
    line: str, name: str, shell_with_result: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "find_1":
        run_command(shell_with_result, "bind find_1_result find_1", capsys)
    prompt = "Use it." if line else f"Look at $`{name}`."

    assert shell_with_result.run_cell(f"%%chat -m practice:fast {line.format(name)}\n{prompt}").success


def test_a_name_that_is_no_result_gets_no_such_hint(shell_with_result: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert not shell_with_result.run_cell("%%chat -m practice:fast\nLook at $`find_9_result`.").success

    assert "%chat bind" not in "".join(capsys.readouterr())
