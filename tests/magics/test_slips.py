"""A cell that was mistyped changes nothing in its chat."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chaos import serve, whole

SET_UP = "%%chat -q -m practice:fast -t double -v frame -s Be-brief\nHello"

SLIPS = {
    "an unknown provider": "-m opnai:gpt-5",
    "a model without a provider": "-m gpt-5",
    "a practice model that is none": "-m practice:fsat -t rows -s New",
    "a model whose key is missing": "-m openai:gpt-5-mini",
    "an unknown flag": "-m practice:thinking --modle x",
    "an abbreviated flag": "-m practice:thinking --mod x",
    "a budget that is none": "-m practice:thinking --budget much",
    "an option without a value": "-m practice:thinking --option temperature",
    "--from alone": "-m practice:thinking -t rows --from 2",
    "a turn that is not there": "-m practice:thinking -t rows -v received -s New --rerun turn_nowhere",
    "an edit of a turn that is not there": "-m practice:thinking -v !frame --edit turn_nowhere",
    "a variable to hide that is not exposed": "-m practice:thinking -v !freme -s New",
    "a tool that is not there": "-m practice:thinking -s New -t rows nowhere",
    "a variable that is not there": "-m practice:thinking -t rows -v nowhere",
    "a tool to remove that is not there, then a bad budget": "-t !double --budget much",
    "a type that is none": "-m practice:thinking -t rows --as nowhere",
    "an attachment that is not there": "-m practice:thinking -t rows -a nowhere",
    "a name that is taken": "-m practice:thinking -t rows -o frame",
    "a wire that is none": "-m practice:thinking --set wire=telex",
    "rounds below one": "-m practice:thinking -t rows --set max_rounds=0",
    "a new conversation with an unknown model": "--new -m opnai:gpt-5",
    "a new conversation with a bad budget": "--new -m practice:thinking --budget much",
    "a dry run": "--dry-run -m practice:thinking -t rows -v received -s New",
}


def state(shell: Any) -> tuple[Any, ...]:
    """Everything that a cell can set in a chat."""
    chat = shell.magics_manager.registry["ChatMagics"].kernel_chats.chats["main"]
    return (
        chat,
        chat.model,
        chat.system,
        list(chat.tools.tools()),
        [(entry.name, entry.is_readable) for entry in chat.exposed_variables()],
        dict(chat.options),
        chat.limits,
        chat.history,
        chat.keeps_notes,
        [node.turn for node in chat.tree.active_path],
    )


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_cell_changes_nothing_in_the_chat(shell: Any, slip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert shell.run_cell(SET_UP).success
    before = state(shell)

    ran = shell.run_cell(f"%%chat -q {SLIPS[slip]}\nHello")

    assert ran.success == (slip == "a dry run")
    assert state(shell) == before


@pytest.mark.parametrize("flags", ["-m ollama:lama3", "-m ollama:lama3 --set wire=responses"])
def test_a_model_that_never_answered_does_not_stay(
    shell: Any, flags: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shell.run_cell(SET_UP).success
    before = state(shell)[1]
    with serve(whole(404, {"error": {"message": "model 'lama3' not found"}})) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        capsys.readouterr()
        assert not shell.run_cell(f"%%chat {flags}\nHello again").success

    actual = capsys.readouterr()
    assert state(shell)[1] == before
    assert "practice:fast" in actual.out + actual.err
    assert shell.run_cell("%%chat -q --set append_turns=true\nAnd now?").success


def test_a_setting_of_a_model_that_is_mistyped_is_refused(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert not shell.run_cell("%chat config model opnai:gpt-5").success

    actual = capsys.readouterr()
    assert "openai?" in actual.out + actual.err
    assert shell.run_cell("%%chat -q -m practice:fast\nHello").success


@pytest.mark.parametrize("flags", ["", "-t rows -v received -s New", "--rerun"])
def test_a_mistyped_model_of_a_known_provider_leaves_no_turn_and_changes_nothing(
    shell: Any, flags: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell.run_cell(SET_UP).success
    before = state(shell)
    with serve(whole(404, {"error": {"message": "model 'lama3' not found"}})) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        shell.run_cell(f"%%chat -q -m ollama:lama3 {flags}\n{'' if flags == '--rerun' else 'Hello.'}")
    actual = capsys.readouterr()

    assert state(shell) == before
    assert "practice:fast" in actual.out + actual.err
    assert "`%chat undo`" in actual.out + actual.err
    assert shell.run_cell("%chat undo").success
    assert "ollama:lama3" in {turn.model for node in before[0].tree.nodes() for turn in node.versions}
