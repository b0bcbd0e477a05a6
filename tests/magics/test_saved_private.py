"""What a notebook saves tells nothing of where the person's files and keys lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtool.blocks.render import whole_conversation
from nbtool.blocks.render.mimebundle import TURN_MIME, turn_mimebundle
from nbtool.chat.journal import journal
from nbtool.magics.commands.context import CommandContext
from nbtool.magics.commands.dispatch import COMMANDS
from nbtool.magics.commands.past_chats.history_source import HistorySource
from nbtool.magics.commands.turns import show
from nbtool.secret import Secret
from nbtool.settings import data_dir
from nbtool.wire.framing.known_secrets import remember_secrets
from nbtool.wire.providers.env_file import find_env_file
from tests.magics.names.test_names_kept import COMMAND_LINES
from tests.shells import end_shell, new_shell

KEY = "sk-canary-0123456789"
TYPED_KEY = "sk-typed-9876543210"
"""A key that an endpoint of this kernel uses, and that the person types in a prompt."""


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Work in a folder with a `.env`, in a home of one's own."""
    folder = tmp_path / "home-of-ada" / "project" / "notebooks"
    folder.mkdir(parents=True)
    (folder.parent / ".env").write_text(f"NBTOOL_MODEL=practice:fast\nGROQ_API_KEY={KEY}\n")
    monkeypatch.setenv("HOME", str(tmp_path / "home-of-ada"))
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "home-of-ada" / ".nbtool-home"))
    monkeypatch.chdir(folder)
    find_env_file.cache_clear()
    journal.cache_clear()
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    remember_secrets(SimpleNamespace(secrets=[Secret(TYPED_KEY)]))
    yield shell
    end_shell()
    find_env_file.cache_clear()
    journal.cache_clear()


PROMPT = f"%%chat\nHello, my key is {TYPED_KEY}"


def command_context(shell: Any) -> CommandContext:
    return CommandContext(shell.magics_manager.registry["ChatMagics"].kernel_chats)


def of_a_turn(shell: Any) -> object:
    turn = command_context(shell).chat.tree.active_path[-1].turn
    transcript = turn.transcript()
    transcript.update_head(why=command_context(shell).chat.model.reason)  # as the page is told while the cell runs
    return turn_mimebundle(transcript.document(), transcript.media)


def printed(line: str) -> Callable[[Any], object]:
    def run(shell: Any) -> object:
        from IPython.utils.capture import capture_output

        with capture_output() as caught:
            shell.run_cell(line)
        return [caught.stdout, caught.stderr, [output.data for output in caught.outputs]]

    return run


SAVED: dict[str, Callable[[Any], object]] = {
    "the bundle of a turn": of_a_turn,
    "the representation of a turn": lambda shell: (
        command_context(shell).chat.tree.active_path[-1].turn._repr_mimebundle_()
    ),
    "the explorer": lambda shell: HistorySource(command_context(shell)).bundle(),
    "the data of the explorer": lambda shell: HistorySource(command_context(shell)).saved("History", ""),
    "the conversation": lambda shell: whole_conversation.mimebundle(show.conversation_turns(command_context(shell))),
    "the line of loading": printed("%reload_ext nbtool"),
    "a cell": printed("%%chat --set append_turns=true\nHello again"),
    "a cell without a key": printed("%%chat --set append_turns=true -m mistral:m\nHello"),
    "a cell with a file that is named": printed("%%chat --set append_turns=true -a nowhere.png\nHello"),
    "status": printed("%chat status"),
    "config": printed("%chat config"),
    "env": printed("%chat env"),
    "prompt": printed("%chat prompt"),
    "serve": printed("%chat serve -t nbtool:inspection\n%chat serve\n%chat serve --stop"),
    "history": printed("%chat history"),
    "chats": printed("%chat history chats"),
    "explore": printed("%chat explore --static"),
    "show": printed("%chat show"),
    "models without a key": printed("%chat config model mistral:m\n%chat models"),
}


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_output_of_a_command_reveals_where_the_persons_files_and_keys_are(
    shell: Any, command: str, tmp_path: Path
) -> None:
    assert shell.run_cell(PROMPT).success
    lines = [command, *COMMAND_LINES[command]]
    text = json.dumps([printed(f"%chat {line}")(shell) for line in lines], default=str)

    assert len(text) > 20
    for private in (str(tmp_path), "home-of-ada", str(data_dir()), KEY, TYPED_KEY, TYPED_KEY[:9]):
        assert private not in text


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("form", SAVED)
def test_no_output_reveals_where_the_persons_files_and_keys_are(shell: Any, form: str, tmp_path: Path) -> None:
    assert shell.run_cell(PROMPT).success
    text = json.dumps(SAVED[form](shell), default=str)

    assert len(text) > 20
    for private in (str(tmp_path), "home-of-ada", str(data_dir()), KEY, TYPED_KEY, TYPED_KEY[:9]):
        assert private not in text


def test_a_saved_turn_does_not_say_why_its_model_answered(shell: Any) -> None:
    assert shell.run_cell("%%chat\nHello").success
    bundle: Any = of_a_turn(shell)

    assert "why" not in bundle[TURN_MIME]["head"]
    for form in bundle.values():
        assert "NBTOOL_MODEL" not in json.dumps(form)


def test_a_broken_journal_and_a_broken_file_of_providers_are_reported_without_their_place(
    shell: Any, tmp_path: Path
) -> None:
    (data_dir() / "providers.toml").write_text("[broken")
    text = json.dumps(printed("%%chat\nHello")(shell))
    (data_dir() / "providers.toml").unlink()
    (data_dir() / "journal.sqlite").write_text("no database" * 100)
    journal.cache_clear()
    text += json.dumps(printed("%chat history chats")(shell))

    assert text.count("$NBTOOL_HOME/") >= 2
    assert str(tmp_path) not in text
