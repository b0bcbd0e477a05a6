"""`--set`: any setting of `%config NbTool`, for one cell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nbtool import Chat
from nbtool.magics.flags.config import NbTool
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedWire, call
from tests.magics.commands.saying import run_command


@pytest.fixture(autouse=True)
def quick_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chats without a model of their own have one that does not take its time."""
    monkeypatch.setenv("NBTOOL_MODEL", "practice:fast")


def chat_of(shell: Any, name: str = "main") -> Any:
    return shell.magics_manager.registry["ChatMagics"].chats[name]


def refused(shell: Any, capsys: pytest.CaptureFixture[str], line: str) -> str:
    capsys.readouterr()
    assert not shell.run_cell(f"%%chat {line}\nHello").success
    said = "".join(capsys.readouterr())
    assert len(said.strip().splitlines()) == 1
    return said


def test_a_setting_is_of_one_cell(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = run_command(shell, "config", capsys)
    shell.run_cell("%%chat -q -o capped -t double --set max_rounds=2 model=practice:plain\nDouble 3 with &`double`.")
    shell.run_cell("%%chat -q -o free\nHello")

    assert shell.user_ns["capped"].model == "practice:plain"
    assert shell.user_ns["capped"].stats.rounds == 2
    assert shell.user_ns["free"].model == "practice:fast"
    assert run_command(shell, "config", capsys) == before


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("system='Be brief.'", "system"),
        ("tool_mode=prompted", "model"),
        ("wire=anthropic", "model"),
        ("model=practice:plain", "model"),
        ("result_bytes=1MB", "variables.max_bytes"),
        ("privacy=true", "plugins"),
        ("base_url=http://127.0.0.1:9/v1 model=x api_key=k --dry-run", "model"),
    ],
)
@pytest.mark.parametrize("own", ["", "-m practice:fast -s 'Own.' --set tool_mode=native"])
def test_a_chat_has_afterwards_what_it_had(shell: Any, setting: str, name: str, own: str) -> None:
    shell.run_cell(f"%%chat -q {own}\nHello")
    chat = chat_of(shell)

    def state() -> dict[str, Any]:
        return {
            "system": chat.system,
            "model": chat.model,
            "variables.max_bytes": chat.variables.max_bytes,
            "plugins": list(chat.plugins),
        }

    before = state()
    shell.run_cell(f"%%chat -q --set {setting}\nHello")

    assert name in before
    assert state() == before


@pytest.mark.parametrize("own", ["", "-m practice:fast -s 'Own.'"])
def test_it_is_over_what_the_chat_has_of_its_own(
    shell: Any, capsys: pytest.CaptureFixture[str], own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    shell.run_cell(f"%%chat -q {own}\nHello")
    capsys.readouterr()
    settings = "system='For once.' model=openai:gpt-5-mini wire=chat"
    shell.run_cell(f"%%chat --dry-run --set {settings} options='{{\"top_p\": 0.5}}'\nHi")
    _, _, request = capsys.readouterr().out.partition("\n{")

    body = json.loads("{" + request)
    assert (body["model"], body["top_p"]) == ("gpt-5-mini", 0.5)
    assert "For once." in json.dumps(body["messages"][0])


def test_a_flag_of_the_cell_is_over_it_and_stays(shell: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast -s 'Own.' --set model=practice:plain system=x tool_mode=prompted\nHello")
    chat = chat_of(shell)

    assert (chat.model.name, chat.model.tool_mode, chat.system) == ("practice:fast", "auto", "Own.")


def test_a_flag_that_stays_is_applied_to_what_the_chat_had(shell: Any) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")
    shell.run_cell("%%chat -q --set model=practice:plain -s Brief.\nHello")

    assert (chat_of(shell).model.name, chat_of(shell).system) == ("practice:fast", "Brief.")


def test_options_are_over_those_of_the_chat_and_under_the_flag(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["own"] = Chat("openai:gpt-5-mini", api_key="k", options={"top_p": 1, "seed": 1})
    options = '--set options=\'{"top_p": 0.5, "seed": 2}\' --option seed=3'
    shell.run_cell(f"%%chat -c own --dry-run {options}\nHi")
    body = json.loads("{" + capsys.readouterr().out.partition("\n{")[2])

    assert (body["top_p"], body["seed"]) == (0.5, 3)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--set max-rounds=3", "Unknown setting 'max-rounds'. Did you mean max_rounds?"),
        ("--set NbTool.timeout=3", "Did you mean timeout?"),
        ("--set colour=red", "Unknown setting 'colour'. Settings: answer_within, api_key, "),
        ("--set max_rounds", "argument --set: expected KEY=VALUE, not 'max_rounds'"),
        ("--set =3", "expected KEY=VALUE, not '=3'"),
        ("--set max_rounds=many", "max_rounds cannot be 'many' (expected a whole number)."),
        ("--set max_rounds=0", "max_rounds cannot be '0' (the least value is 1)."),
        ("--set approve=perhaps", "approve cannot be 'perhaps' (expected ask, later, auto, deny, input, park)."),
        ("--set stream=maybe", "stream cannot be 'maybe' (expected true or false)."),
        ("--set model=nosuch:x", "Unknown provider 'nosuch'."),
        ("--set magic=ai", "--set magic has no effect in a cell"),
        ("--set provider_tools=search", "provider_tools: there is no tool 'search' of the provider."),
        ("--set", "expected at least one argument"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line_as_by_config(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, expected: str
) -> None:
    assert expected in refused(shell, capsys, line)


@pytest.mark.parametrize("setting", ["max_rounds=many", "approve=perhaps", "timeout=-1", "privacy=nosuch", "wire=x"])
def test_the_message_is_that_of_the_command(shell: Any, capsys: pytest.CaptureFixture[str], setting: str) -> None:
    said = refused(shell, capsys, f"--set {setting}")
    shell.run_cell(f"%chat config {setting.replace('=', ' ')}")

    assert said == "".join(capsys.readouterr())


def test_a_secret_that_does_not_fit_is_not_shown(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert "hunter2" not in refused(shell, capsys, "--set headers=hunter2")


def test_access_to_another_server_is_refused_where_the_chat_has_a_model_of_its_own(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nHello")

    said = refused(shell, capsys, "--set base_url=http://127.0.0.1:9/v1")
    assert "--set base_url is for the server of `--set model`, and this chat has a model of its own." in said


def test_the_key_of_the_notebook_is_not_used_for_another_server(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    settings: NbTool = shell.magics_manager.registry["ChatMagics"].settings
    settings.model, settings.api_key = "openai:gpt-5-mini", "notebook-key"
    capsys.readouterr()
    shell.run_cell("%%chat --dry-run --set model=practice:fast\nHi")

    said = capsys.readouterr().out
    assert "Not used in this cell, which sets another server: NbTool.api_key." in said
    assert settings.api_key is not None
    assert settings.model == "openai:gpt-5-mini"


def test_masks_of_the_chat_itself_cannot_be_turned_off(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["own"] = Chat("practice:fast", plugins=[Privacy()])

    assert "--set privacy cannot turn off the masks of this chat" in refused(
        shell, capsys, "-c own --set privacy=false"
    )
    assert len(chat_of(shell, "own").plugins) == 1


@pytest.mark.parametrize("line", ["--set stream=false", ""])
def test_a_reply_is_streamed_unless_the_setting_or_the_flag_says_otherwise(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    shell.user_ns["own"] = Chat("openai:gpt-5-mini", api_key="k", wire="chat")
    capsys.readouterr()
    shell.run_cell(f"%%chat -c own --dry-run {line}\nHi")

    assert ('"stream": true' in capsys.readouterr().out) is not bool(line)


@pytest.mark.parametrize("mode", ["later", "park"])
@pytest.mark.parametrize("line", ["--approve {}", "--set approve={}", "%config"])
def test_later_is_what_park_was(shell: Any, mode: str, line: str) -> None:
    with ScriptedWire([call("double", n=2), "Done."]) as wire:
        shell.user_ns["own"] = Chat(wire=wire)
        if line == "%config":
            shell.run_cell(f"%config NbTool.approve = '{mode}'")
        flags = shell.magics_manager.registry["ChatMagics"].settings
        assert shell.run_cell(
            f"%%chat -q -c own -t double {line.format(mode) if ' ' in line else ''} -o turn\nGo"
        ).success

    assert flags.approve == (mode if line == "%config" else "ask")
    assert shell.user_ns["turn"].status == "completed"
