from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError

from nbtool.magics.cell.endings import TurnFailed
from tests.chaos import ChaosServer
from tests.magics.commands.saying import run_command
from tests.shells import end_shell, new_shell

USE = "%%chat -q -m practice:fast -o answer"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notebook.nbtool.json"


@contextmanager
def closing_shell() -> Iterator[Any]:
    """Give a kernel without the extension, and end it."""
    yield new_shell()
    end_shell()


def answer(shell: Any) -> Any:
    return shell.user_ns["answer"]


def test_record_adds_turns_and_replays_them(shell: Any, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = run_command(shell, f"record {path}", capsys)
    shell.run_cell(f"{USE}\nUse &`double` with 21.")
    shell.run_cell(f"{USE} --new\nUse &`double` with 21.")

    assert before.startswith("notebook.nbtool.json: 0 turns, ")
    assert "auto (default)" in before
    assert run_command(shell, "record", capsys).startswith("notebook.nbtool.json: 1 turn,")
    assert answer(shell).replayed is not None
    assert answer(shell).calls[0].result == 42


def test_replay_reads_and_writes_nothing(shell: Any, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, f"record {path}", capsys)
    shell.run_cell(f"{USE}\nHello")
    before = path.read_bytes()
    run_command(shell, f"record {path} --only", capsys)
    shell.run_cell(f"{USE}\nSomething else")

    assert path.read_bytes() == before
    assert "nothing" in run_command(shell, "record", capsys)


def test_replaying_a_file_that_is_not_there_is_refused(
    shell: Any, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell(f"%chat record {path} --only")
    actual = capsys.readouterr()

    assert str(path) in actual.out + actual.err
    assert "off (default)" in run_command(shell, "record", capsys)


def test_a_recording_that_the_environment_names_is_shown_with_its_variable(
    shell: Any, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTOOL_RECORDING", str(path))
    shell.run_cell(f"{USE}\nHello")
    monkeypatch.setenv("NBTOOL_REPLAY", "only")

    assert "(NBTOOL_RECORDING): 1 turn, " in run_command(shell, "record", capsys)
    assert "only (NBTOOL_REPLAY)" in run_command(shell, "record", capsys)


def test_off_ends_it(shell: Any, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, f"record {path}", capsys)

    assert "off (default)" in run_command(shell, "record off", capsys)
    shell.run_cell(f"{USE}\nHello")
    assert not path.exists()


def test_only_fails_in_one_line_that_says_what_changed(
    shell: Any, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, f"record {path}", capsys)
    shell.run_cell(f"{USE}\nUse &`double` with 21.")
    shell.run_cell("@tool(run='auto')\ndef double(n: int) -> int:\n    'Twice.'\n    return n + n")
    capsys.readouterr()
    ran = shell.run_cell(f"{USE} --new --set replay=only\nUse &`double` with 21.")
    out = capsys.readouterr()

    assert not ran.success
    assert (out.out + out.err).strip().count("\n") == 0
    assert "the tool `double` changed" in out.out + out.err


def test_only_needs_no_key(shell: Any, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(shell, f"record {path}", capsys)
    shell.run_cell("%%chat -q -m openai:gpt-5-mini\nHello")
    without = capsys.readouterr()
    shell.run_cell("%%chat -q -m openai:gpt-5-mini --set replay=only\nHello")
    only = capsys.readouterr()

    assert "OPENAI_API_KEY" in without.out + without.err
    assert "`%chat record FILE`" in only.out + only.err


def test_the_setting_of_the_notebook_holds_where_a_cell_says_nothing(
    shell: Any, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(shell, f"record {path}", capsys)
    shell.run_line_magic("config", "NbTool.replay = 'only'")
    capsys.readouterr()
    shell.run_cell(f"{USE}\nHello")

    assert "`%chat record FILE`" in capsys.readouterr().out
    assert shell.run_cell(f"{USE} --set replay=off\nHello").success


def test_a_file_that_is_no_recording_is_one_line(shell: Any, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text("{}")
    capsys.readouterr()
    shell.run_cell(f"%chat record {path}")
    out = capsys.readouterr()

    assert path.name in out.out + out.err
    assert path.read_text() == "{}"


@pytest.mark.parametrize(
    "line", ["record --quiet", "record --auto", "export md --overwrit", "bind x y --replac", "open --new"]
)
def test_an_option_that_a_command_does_not_have_is_taken_for_nothing_else(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run_cell(f"%chat {line}")
    actual = capsys.readouterr()

    assert f"Unknown option {line.split()[-1]}" in actual.out + actual.err
    assert "off (default)" in run_command(shell, "record", capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.feature("replay without a key")
@pytest.mark.parametrize("missing", ["key", "provider"])
def test_a_recorded_turn_is_replayed_where_the_model_has_no_key_or_no_provider(
    path: Path, server: ChaosServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path))
    monkeypatch.setenv("UNI_LLM_KEY", "k")
    table = tmp_path / "providers.toml"
    table.write_text(f'[uni]\nbase_url = "{server.url}"\nkeys = ["UNI_LLM_KEY"]\n')
    cells = ("%load_ext nbtool", f"%chat record {path}", "%%chat -q -m uni:large -o answer\nHello")
    with closing_shell() as shell:
        assert all(shell.run_cell(cell).success for cell in cells)
    if missing == "key":
        monkeypatch.delenv("UNI_LLM_KEY")
    else:
        table.unlink()

    with closing_shell() as shell:
        results = [shell.run_cell(cell) for cell in cells]
        replayed = answer(shell)
        other = shell.run_cell("%%chat -q\nSomething else")
        unknown = shell.run_cell("%%chat -q -m ini:large\nHello")

    assert [result.error_in_exec for result in results] == [None, None, None]
    assert (replayed.text, len(server.requests)) == ("Hello", 1)
    assert replayed.replayed is not None
    assert (type(other.error_in_exec), type(unknown.error_in_exec)) == (TurnFailed, UsageError)


def test_a_cell_whose_call_nobody_can_approve_fails_in_one_line(
    shell: Any, path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run_cell("@tool\ndef load() -> Frame:\n    'Load.'\n    return Frame()")
    cell = f"{USE} --new{{flags}}\nUse &`load`."
    run_command(shell, f"record {path}", capsys)
    assert shell.run_cell(cell.format(flags=" --approve auto")).success
    monkeypatch.setenv("NBTOOL_REPLAY", "only")

    failed = shell.run_cell(cell.format(flags=""))
    text = capsys.readouterr().out
    approved = shell.run_cell(cell.format(flags=" --approve auto --set replace_names=true"))

    assert (failed.success, approved.success) == (False, True)
    assert "Add `--approve auto`" in text
