"""Situations of public reports: whose consent a decision, a host, a file and a mode have."""

from __future__ import annotations

import stat
import sys
import threading
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from nbtool.chat.journal.schema import connect
from nbtool.ids import short_id
from nbtool.magics.views.pageless_views import NullView
from nbtool.plugins.masks import Masks
from nbtool.plugins.pii_patterns import PII_TYPES, select_types
from nbtool.testing import call
from nbtool.tools.secret_patterns import is_secret_path
from tests.hosts import TwoHosts, two_hosts
from tests.magics.commands.saying import run_command
from tests.magics.parking import SECONDS, ParkingChat, wait_end
from tests.shells import end_shell, new_shell


@pytest.fixture
def shell() -> Iterator[Any]:
    """Give an IPython with the extension loaded."""
    shell = new_shell()
    shell.run_line_magic("load_ext", "nbtool")
    yield shell
    end_shell()


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoHosts]:
    with two_hosts(monkeypatch) as running:
        yield running


def chats(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def begin_and_reopen(shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str], opened: str = "") -> str:
    """Begin a chat at alpha, end the kernel, and open the chat where another default is named; return what is said."""
    shell.run_cell("%%chat -q -m alpha:m\nThe secret is 7.")
    chat_id = short_id(chats(shell).chat("main").chat_id)
    hosts.environment.setenv("NBTOOL_MODEL", "beta:m")
    shell.run_line_magic("reload_ext", "nbtool")
    return " ".join(run_command(shell, f"open {chat_id} {opened}".strip(), capsys).split())


def test_a_session_that_is_resumed_keeps_its_model(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    """anthropics/claude-code#76363: a resumed session goes on with another default model without a word. Right: it goes
    on with the model that it had, and says which. Before: wrong."""
    said = begin_and_reopen(shell, hosts, capsys)
    shell.run_cell("%%chat -q\nAnd now?")

    assert "It goes on with alpha:m" in said
    assert hosts.asked == (2, 0)


def test_the_provider_is_restored_with_the_model_and_not_combined_with_the_present_one(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    """NousResearch/hermes-agent#85261: the model of a session is combined with the provider of today's settings. Right:
    model and host come back together. Before: wrong."""
    begin_and_reopen(shell, hosts, capsys)

    model = chats(shell).chat("main").model
    assert (model.name, model.destination) == ("alpha:m", hosts.alpha.url.split("/")[2])


def test_a_model_that_the_person_names_for_a_resumed_session_wins(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    """github/copilot-cli#4645, aaif-goose/goose#10810: the model that is named on resuming is ignored. Right: `open ID
    -m MODEL` goes on with it. Before: wrong."""
    said = begin_and_reopen(shell, hosts, capsys, "-m beta:m")
    shell.run_cell("%%chat -q\nAnd now?")

    assert "It goes on with beta:m" in said
    assert hosts.asked == (1, 1)


def test_a_pair_that_cannot_be_restored_is_refused_and_not_swapped(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    """huggingface/tau#258: where provider and model of a session do not fit any more, another model is taken silently.
    Right: a clear error, and nothing is sent. Before: wrong."""
    shell.run_cell("%%chat -q -m alpha:m\nThe secret is 7.")
    chat_id = short_id(chats(shell).chat("main").chat_id)
    hosts.set_keys("beta")
    shell.run_line_magic("reload_ext", "nbtool")
    said = run_command(shell, f"open {chat_id}", capsys)
    cell = shell.run_cell("%%chat -q\nAnd now?")

    assert "cannot be used here" in said
    assert not cell.success
    assert hosts.asked == (1, 0)


def test_an_approval_is_that_of_the_question_on_the_screen_and_of_no_newer_one(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """anthropics/claude-code#65910: a newer prompt takes the place of the one that is shown, and the yes is for it.
    Right: the decision is about what was shown; where another question is there, nothing is decided. Before: wrong."""
    parking = ParkingChat(call("pay", amount=1), call("pay", amount=1_000), "Done.")
    chats(shell).chats["main"] = parking.chat
    turn = parking.park()
    NullView(parking.chat.approvals.mark_shown).on_parked(turn)
    first, second = parking.waiting, threading.Event()
    turn.add_listener(lambda event: second.set() if event.kind == "turn_parked" and event.digest != first else None)
    run_command(shell, f"approve {first[:12]}", capsys)
    assert second.wait(SECONDS)

    assert not shell.run_cell("%chat approve").success
    assert not shell.run_cell(f"%chat approve {first[:12]}").success
    assert "Run pay(amount=1000)?" in "".join(capsys.readouterr())
    run_command(shell, f"deny {parking.waiting[:12]}", capsys)
    assert [one.status for one in wait_end(turn).calls] == ["ok", "denied"]


def test_the_question_shows_the_command_and_not_only_its_name(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Kilo-Org/kilocode#6491: the prompt for a shell command shows `$` and not the command. Right: wherever a decision
    is asked for or confirmed, the arguments are there. Before: wrong."""
    parking = ParkingChat()
    chats(shell).chats["main"] = parking.chat
    turn = parking.park()
    NullView(parking.chat.approvals.mark_shown).on_parked(turn)

    shown = capsys.readouterr().out
    decided = run_command(shell, "approve", capsys)

    assert "pay(amount=3)" in shown
    assert "pay(amount=3)" in decided
    wait_end(turn)


@pytest.mark.parametrize("suffix", ["api_key.txt", "attacker_token.json", "config_api_keys.txt", "PERSONAL_KEYS"])
def test_files_that_projects_keep_out_of_their_repository_are_not_read(suffix: str) -> None:
    """anomalyco/opencode#4308: an agent reads a file of secrets unasked that the project's `.gitignore` names; these
    names are of Annirudh-S/aiwars-AegisAI (CREDENTIALS_INSTRUCTIONS.md) and abk234/FinRobot (GIT_SECURITY.md). Right:
    they are files of secrets by the words of their names. Before: wrong."""
    assert is_secret_path(PurePosixPath("/home/ada/project") / suffix)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_opening_a_database_changes_no_file_behind_a_link(tmp_path: Path) -> None:
    """mvanhorn/cli-printing-press#3613, headroomlabs-ai/headroom#3215: narrowing the mode of a database follows a link
    that somebody has put in the place of one of the files beside it. Right: the file behind the link keeps its mode.
    Before: right."""
    target, folder = tmp_path / "target", tmp_path / "home"
    target.write_text("mine")
    target.chmod(0o644)
    folder.mkdir(mode=0o755)
    (folder / "journal.sqlite-owner").symlink_to(target)

    connect(folder / "journal.sqlite").close()

    assert (stat.S_IMODE(target.stat().st_mode), target.read_text()) == (0o644, "mine")


def test_an_address_within_an_address_is_masked_whole() -> None:
    """Nano-Collective/prompt-scrubber#131: of `::ffff:192.0.2.1` the end stays in clear. Right: all of it is masked.
    Before: wrong."""
    masks = Masks(select_types(["ip"], (), {}))

    assert masks.mask("mapped ::ffff:192.0.2.1 here") == "mapped __MASK_IP_1__ here"


def test_an_account_number_with_separators_is_validated_without_them() -> None:
    """data-privacy-stack/presidio#370: an IBAN with dashes or spaces is not recognized. Right: separators and line
    breaks count for nothing, and the checksum says where it ends. Before: right."""
    masks = Masks(select_types(PII_TYPES, (), {}))

    for written in ("DE89-3704-0044-0532-0130-00", "DE89 3704 0044\n0532 0130 00"):
        assert masks.mask(f"to {written} failed") == f"to {masks.mask(written)} failed"
        assert "3704" not in masks.mask(written)
