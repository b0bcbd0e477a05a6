from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.wire.providers.catalog import BUILTIN
from nbtool.wire.providers.env_file import find_env_file
from tests.chaos import ChaosServer, finish, head, serve, text
from tests.shells import end_shell, new_shell

CELL = "%%chat -q --set stream=false\nprivate words"


class Terminal(io.StringIO):
    """A terminal at which somebody sits."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChaosServer]:
    """Work in a folder whose `.env` names the model and the address of a stranger."""
    for provider in BUILTIN.values():
        for name in (*provider.keys, *provider.addresses):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with serve(head(), text("Hello"), finish()) as stranger:
        (tmp_path / ".env").write_text(f"NBTOOL_MODEL=ollama:llama3\nOLLAMA_HOST={stranger.url}\n")
        find_env_file.cache_clear()
        yield stranger
    find_env_file.cache_clear()


@pytest.fixture
def loaded_shell(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give an IPython with the extension loaded in that folder."""
    request.getfixturevalue("server")
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    yield shell
    end_shell()


def open_terminal(monkeypatch: pytest.MonkeyPatch, *answers: str) -> Terminal:
    """Put a person at a terminal, who will type these lines; gives what they see."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{answer}\n" for answer in answers)))
    monkeypatch.setattr(sys, "stdout", screen)
    return screen


def test_the_line_of_loading_names_the_host_and_that_it_asks_first(
    loaded_shell: Any, server: ChaosServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    capsys.readouterr()
    loaded_shell.run_line_magic("reload_ext", "nbtool")

    actual = capsys.readouterr().out
    assert (
        actual
        == f"nbtool: ollama:llama3 at {server.host} (NBTOOL_MODEL in .env; the first prompt asks for your consent)\n"
    )
    assert str(tmp_path) not in actual


@pytest.mark.promise("env-asks")
def test_where_nobody_can_be_asked_the_cell_sends_nothing_and_says_how_to_allow_it(
    loaded_shell: Any, server: ChaosServer, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert not loaded_shell.run_cell(CELL).success

    actual = capsys.readouterr()
    assert server.requests == []
    assert "%chat env allow" in actual.out + actual.err
    assert "NBTOOL_ALLOW_ENV_FILE=1" in actual.out + actual.err


@pytest.mark.promise("env-asks")
@pytest.mark.parametrize("answer", ["", "n", "yes please", "Y es"])
def test_only_a_plain_yes_lets_a_prompt_leave(
    answer: str, loaded_shell: Any, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_terminal(monkeypatch, answer)

    assert not loaded_shell.run_cell(CELL).success
    assert server.requests == []


def test_a_person_is_asked_once_for_a_folder(
    loaded_shell: Any, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = open_terminal(monkeypatch, "y")

    assert loaded_shell.run_cell(CELL).success
    assert loaded_shell.run_cell(CELL).success
    assert len(server.requests) == 2
    assert screen.getvalue().count("send prompts to") == 1
    assert "`%chat env forget` takes it back, and `%chat env allow` gives it later." in screen.getvalue()
    assert server.host in screen.getvalue()


def test_a_cell_that_denies_everything_does_not_ask(
    loaded_shell: Any, server: ChaosServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = open_terminal(monkeypatch, "y")

    assert not loaded_shell.run_cell(CELL.replace("-q", "-q --approve deny")).success
    assert server.requests == []
    assert "send prompts to" not in screen.getvalue()


def test_a_command_allows_the_file_and_takes_that_back(
    loaded_shell: Any, server: ChaosServer, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded_shell.run_cell("%chat env allow")
    assert loaded_shell.run_cell(CELL).success
    loaded_shell.run_cell("%chat env forget")
    capsys.readouterr()
    loaded_shell.run_cell("%chat env")

    assert not loaded_shell.run_cell("%%chat -q --set append_turns=true\nmore").success
    assert len(server.requests) == 1
    assert capsys.readouterr().out.startswith(".env sets NBTOOL_MODEL, OLLAMA_HOST; ")
