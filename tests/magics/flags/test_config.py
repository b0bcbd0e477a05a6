from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage
from nbtool.magics.flags.config import NbTool
from nbtool.testing import ScriptedWire, call
from tests.magics.commands.saying import run_command
from tests.shells import end_shell, new_shell


@pytest.fixture
def configured_shell() -> Iterator[Any]:
    """Give an IPython whose ipython_config.py sets things, without the extension."""
    yield new_shell(NbTool={"max_rounds": 3, "model": "practice:fast"})
    end_shell()


def test_config_lists_the_settings_and_says_what_each_is_for(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    shell.run_cell("%config NbTool")

    actual = capsys.readouterr().out
    assert "NbTool.max_rounds" in actual
    assert "Maximum requests to the model in a turn" in actual


def test_a_setting_holds_for_cells_that_say_nothing_of_it(shell: Any) -> None:
    shell.run_cell("%config NbTool.model = 'practice:fast'")
    shell.run_cell("%config NbTool.max_rounds = 2")
    shell.run_cell("%%chat -q -t double -o capped\nDouble 3 with &`double`, then double the result.")
    shell.run_cell("%%chat -q -t double --set max_rounds=4 -o free\nDouble 3 with &`double`.")

    assert shell.user_ns["capped"].stats.rounds == 2  # the round, and the last word
    assert shell.user_ns["capped"].model == "practice:fast"
    assert shell.user_ns["free"].stats.calls == 1


def test_a_model_named_in_a_cell_stays_whatever_the_setting_becomes(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%config NbTool.model = 'practice:default'")
    followed = run_command(shell, "status", capsys)
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    shell.run_cell("%config NbTool.model = 'practice:slow'")

    assert "practice:default (%config NbTool.model)" in followed
    assert "practice:fast (" in run_command(shell, "status", capsys)


def test_a_setting_that_is_taken_back_leaves_the_model_that_is_found(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, "config model practice:fast", capsys)
    run_command(shell, "status", capsys)
    run_command(shell, "config model default", capsys)

    assert "practice:default (" in run_command(shell, "status", capsys)


def test_the_chat_command_sets_what_config_sets_and_names_the_source(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(shell, "config max_rounds 7", capsys) == "max_rounds: 7\n"
    assert "7 (%config NbTool.max_rounds)" in run_command(shell, "config max_rounds", capsys)
    assert "not set  (default)" in run_command(shell, "config", capsys)


@pytest.mark.parametrize(
    ("setting", "flag", "asked"),
    [(None, "", 0), (True, "", 1), (True, "--set check_results=false", 0), (None, "--set check_results=true", 1)],
)
def test_every_result_is_asked_about_where_the_setting_or_the_flag_says_so(
    shell: Any, setting: bool | None, flag: str, asked: int
) -> None:
    shell.run_cell(f"%config NbTool.model = 'practice:fast'\n%config NbTool.check_results = {setting}")
    shell.run_cell(f"%%chat -q -t double --approve auto --set max_rounds=2 -o turn {flag}\nDouble 3 with &`double`.")

    decisions = [decided.gate for made in shell.user_ns["turn"].calls for decided in made.decisions]
    assert decisions.count("result") == asked


@pytest.mark.parametrize("words", ["max_rounds many", "max_rounds 0", "approve perhaps", "colour red", "a b c d"])
def test_a_setting_that_does_not_fit_is_refused_in_one_line(
    shell: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert not shell.run_cell(f"%chat config {words}").success

    actual = capsys.readouterr()
    assert len((actual.out + actual.err).strip().splitlines()) == 1


def test_what_ipython_config_says_counts_from_the_start(
    configured_shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    configured_shell.run_line_magic("load_ext", "nbtool")

    assert capsys.readouterr().out == "nbtool: practice:fast (ipython_config.py)\n"
    assert "3 (ipython_config.py)" in run_command(configured_shell, "config max_rounds", capsys)


def test_an_unknown_setting_names_those_that_exist() -> None:
    with pytest.raises(BadUsage, match="Settings: answer_within, api_key, append_turns, approve"):
        NbTool().setting("colour")
    with pytest.raises(BadUsage, match=r"Unknown setting 'max_round'. Did you mean max_rounds\?"):
        NbTool().setting("max_round")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("max_rounds", "max_calls", "max_repeats")
            for value in ("True", "2.5", "'3'", "-1", "[1]")
        ),
        *((name, value) for name in ("timeout", "answer_within") for value in ("float('nan')", "float('inf')", "'3'")),
        *(("plugins", value) for value in ("'Privacy'", "['Privacy']", "[None]", "[object()]", "[int]", "5")),
        *((name, "5") for name in ("privacy", "api_key", "options", "headers", "quiet", "system", "history")),
        *(("budget", value) for value in ("True", "[1]")),
    ],
)
def test_a_setting_refuses_a_value_of_a_wrong_type_and_keeps_its_own(
    shell: Any, name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = shell.magics_manager.registry["ChatMagics"].settings
    former = getattr(settings, name)

    shell.run_cell(f"%config NbTool.{name} = {value}")

    assert getattr(settings, name) == former
    (refused,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "\n" not in refused


@pytest.mark.parametrize(("value", "text"), [("150", "150"), ("0.05", "0.05"), ("'$2'", "$2"), ("None", None)])
def test_a_budget_is_a_number_or_a_text(shell: Any, value: str, text: str | None) -> None:
    shell.run_cell(f"%config NbTool.budget = {value}")

    assert shell.magics_manager.registry["ChatMagics"].settings.budget == text


def test_the_flag_and_the_setting_of_repeats_limit_them(shell: Any) -> None:
    shell.run_cell("%config NbTool.max_repeats = 5")
    for flag, count in (("", 5), ("--set max_repeats=4", 4)):
        with ScriptedWire([*[call("double", n=1)] * count, "Done."]) as wire:
            shell.user_ns["looping"] = Chat(wire=wire)
            shell.run_cell(f"%%chat -q -c looping --approve auto -t double {flag} -o turn\nGo.")
        assert (shell.user_ns["turn"].end_reason, len(shell.user_ns["turn"].calls)) == ("repetition", count)


def test_the_flag_and_the_setting_of_calls_limit_them(shell: Any) -> None:
    shell.run_cell("%config NbTool.model = 'practice:fast'\n%config NbTool.max_calls = 7")
    shell.run_cell("%%chat -q -t double -o by_setting\nDouble 3 with &`double`.")
    shell.run_cell("%%chat -q -t double --set max_calls=1 -o capped\nDouble 3 with &`double`, then double the result.")

    assert len(shell.user_ns["capped"].calls) <= 1
    assert len(shell.user_ns["by_setting"].calls) == 1
