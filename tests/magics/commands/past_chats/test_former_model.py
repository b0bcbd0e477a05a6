"""The host to which the history of an opened chat goes: the one that has it, or one that the person names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.ids import short_id
from tests.hosts import TwoHosts, netloc, prompts_of, two_hosts
from tests.magics.commands.saying import run_command

pytestmark = pytest.mark.usefixtures("own_journal")

AMBIENT: dict[str, dict[str, str]] = {
    "NBTOOL_MODEL": {"NBTOOL_MODEL": "beta:m"},
    "a key": {},
    "a setting": {"setting": "beta:m"},
}
"""What names another model in the kernel in which the chat is opened."""


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoHosts]:
    with two_hosts(monkeypatch) as running:
        yield running


def kernel_chats(shell: Any) -> Any:
    return shell.magics_manager.registry["ChatMagics"].kernel_chats


def new_kernel(shell: Any, hosts: TwoHosts, keys: tuple[str, ...], ambient: str) -> None:
    """Begin again, with these keys and this default."""
    hosts.set_keys(*keys)
    settings = dict(AMBIENT[ambient])
    setting = settings.pop("setting", "")
    for name, value in settings.items():
        hosts.environment.setenv(name, value)
    shell.run_line_magic("reload_ext", "nbtool")
    if setting:
        kernel_chats(shell).settings.model = setting


@pytest.fixture
def chat_id(shell: Any, hosts: TwoHosts) -> str:
    """Talk with alpha in a chat, and give its id."""
    hosts.set_keys("alpha")
    shell.run_cell("%%chat -q -m alpha:m\nThe secret is 7.")
    return short_id(kernel_chats(shell).chat("main").chat_id)


def say(shell: Any, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    shell.run_cell(f"%%chat -q {line}\nAnd now?")
    return "".join(capsys.readouterr())


@pytest.mark.promise("history-host")
@pytest.mark.parametrize("ambient", AMBIENT)
def test_an_opened_chat_goes_on_with_its_former_model_whatever_the_default_is(
    ambient: str, shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_kernel(shell, hosts, ("alpha", "beta"), ambient)

    opened = run_command(shell, f"open {chat_id}", capsys)
    say(shell, "", capsys)

    assert f"alpha:m ({netloc(hosts.alpha)})" in " ".join(opened.split())
    assert hosts.asked == (2, 0)
    assert "secret is 7" in "".join(prompts_of(hosts.alpha)[1])


@pytest.mark.promise("history-host")
@pytest.mark.parametrize("ambient", AMBIENT)
def test_where_the_former_model_cannot_be_used_nothing_is_sent_and_both_hosts_are_named(
    ambient: str, shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_kernel(shell, hosts, ("beta",), ambient)
    if ambient == "a key":
        hosts.environment.setenv("NBTOOL_MODEL", "beta:m")

    opened = run_command(shell, f"open {chat_id}", capsys)
    refused = say(shell, "", capsys)
    asked = hosts.asked

    assert f"alpha:m ({netloc(hosts.alpha)})" in " ".join(opened.split())
    assert "`%%chat -m beta:m`" in opened
    assert asked == (1, 0)
    assert netloc(hosts.alpha) in refused
    assert netloc(hosts.beta) in refused
    say(shell, "-m beta:m", capsys)
    say(shell, "", capsys)
    assert hosts.asked == (1, 2)


@pytest.mark.promise("history-host")
@pytest.mark.parametrize("flag", ["-m beta:m {}", "{} --model beta:m"])
def test_open_takes_a_model_which_names_the_host(
    flag: str, shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_kernel(shell, hosts, ("alpha", "beta"), "a key")

    opened = run_command(shell, f"open {flag.format(chat_id)}", capsys)
    say(shell, "", capsys)

    assert f"beta:m ({netloc(hosts.beta)})" in " ".join(opened.split())
    assert hosts.asked == (1, 1)


@pytest.mark.promise("history-host")
def test_a_model_that_cannot_be_used_opens_nothing(shell: Any, hosts: TwoHosts, chat_id: str) -> None:
    new_kernel(shell, hosts, ("alpha",), "a key")

    assert not shell.run_cell(f"%chat open -m beta:m {chat_id}").success
    assert not shell.run_cell(f"%chat open {chat_id} -m").success
    assert not kernel_chats(shell).chat("main").tree.roots


@pytest.mark.promise("history-host")
@pytest.mark.parametrize("line", ["--rerun {}", "--edit {}", "--set append_turns=true"])
def test_no_operation_on_an_earlier_turn_takes_it_to_another_host(
    line: str, shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    turn = kernel_chats(shell).chat("main").tree.active_path[0].turn.turn_id
    shell.run_cell("%%chat -q\nMore.")
    last = kernel_chats(shell).chat("main").tree.active_path[1].turn.turn_id
    new_kernel(shell, hosts, ("beta",), "NBTOOL_MODEL")
    run_command(shell, f"open {chat_id}", capsys)

    for one in (turn, last):
        capsys.readouterr()
        body = "" if "rerun" in line else "And now?"
        shell.run_cell(f"%%chat -q {line.format(one)}\n{body}")
    refused = "".join(capsys.readouterr())

    texts = "".join("".join(one) for one in prompts_of(hosts.beta))
    assert "secret is 7" not in texts
    assert "-m beta:m" in refused


@pytest.mark.promise("history-host")
def test_a_turn_of_an_earlier_kernel_continues_at_its_host(shell: Any, hosts: TwoHosts, chat_id: str) -> None:
    turn = kernel_chats(shell).chat("main").tree.active_path[0].turn.turn_id
    assert chat_id
    new_kernel(shell, hosts, ("alpha", "beta"), "NBTOOL_MODEL")

    shell.run_cell(f"%%chat -q --rerun {turn}\n")

    assert hosts.asked == (2, 0)


@pytest.mark.promise("history-host")
def test_a_chat_of_a_file_goes_on_where_its_model_is(
    shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert chat_id
    file = tmp_path / "chat.json"
    run_command(shell, f"export json {file}", capsys)
    new_kernel(shell, hosts, ("alpha", "beta"), "NBTOOL_MODEL")

    opened = run_command(shell, f"open {file}", capsys)
    say(shell, "", capsys)

    assert "alpha:m" in opened
    assert hosts.asked == (2, 0)


@pytest.mark.promise("history-host")
def test_a_chat_of_the_practice_model_goes_to_a_real_one_only_when_that_is_named(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts.set_keys()
    shell.run_cell("%%chat -q -m practice:fast\nThe secret is 7.")
    chat_id = short_id(kernel_chats(shell).chat("main").chat_id)
    new_kernel(shell, hosts, ("alpha", "beta"), "NBTOOL_MODEL")

    opened = run_command(shell, f"open {chat_id}", capsys)
    say(shell, "", capsys)
    before = hosts.asked
    say(shell, "-m beta:m", capsys)

    assert "practice:fast" in opened
    assert (before, hosts.asked) == ((0, 0), (0, 1))


@pytest.mark.promise("history-host")
def test_a_setting_that_is_changed_after_opening_names_the_host(
    shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_kernel(shell, hosts, ("beta",), "NBTOOL_MODEL")
    run_command(shell, f"open {chat_id}", capsys)
    say(shell, "", capsys)
    before = hosts.asked

    shell.run_line_magic("config", "NbTool.model = 'beta:other'")
    say(shell, "", capsys)

    assert (before, hosts.asked) == ((1, 0), (1, 1))


@pytest.mark.promise("history-host")
def test_the_default_of_a_cell_names_no_host_that_was_found(
    shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_kernel(shell, hosts, ("alpha", "beta"), "a key")
    run_command(shell, f"open {chat_id}", capsys)
    hosts.set_keys("beta")

    refused = say(shell, "-m default", capsys)

    assert "-m" in refused
    assert hosts.asked == (1, 0)


@pytest.mark.promise("history-host")
def test_an_address_that_changes_behind_the_name_of_a_model_is_not_named(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts.environment.setenv("OPENAI_API_KEY", "k")
    hosts.environment.setenv("OPENAI_BASE_URL", hosts.alpha.url)
    shell.run_cell("%%chat -q -m openai:m --set wire=chat\nThe secret is 7.")
    hosts.environment.setenv("OPENAI_BASE_URL", hosts.beta.url)

    refused = say(shell, "", capsys)
    asked = hosts.asked
    say(shell, "-m openai:m", capsys)

    assert "-m openai:m" in refused
    assert (asked, hosts.asked) == ((1, 0), (1, 1))


@pytest.mark.promise("history-host")
def test_a_new_chat_asks_nothing(shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]) -> None:
    new_kernel(shell, hosts, ("beta",), "NBTOOL_MODEL")
    run_command(shell, f"open {chat_id}", capsys)

    say(shell, "--new", capsys)
    say(shell, "-c other", capsys)

    assert hosts.asked == (1, 2)


@pytest.mark.promise("history-host")
def test_a_replay_that_misses_sends_no_history_to_a_default_that_was_found(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "chat.jsonl"
    run_command(shell, f"record {file}", capsys)
    shell.run_cell("%%chat -q -m alpha:m\nThe secret is 7.")
    new_kernel(shell, hosts, ("beta",), "NBTOOL_MODEL")
    run_command(shell, f"record {file} --only", capsys)
    shell.run_cell("%%chat -q -m alpha:m --set replay=only\nThe secret is 7.")
    replayed = kernel_chats(shell).chat("main").tree.active_path
    kernel_chats(shell).chat("main").model = Chat().model.with_changes(None)
    hosts.environment.delenv("NBTOOL_MODEL")

    say(shell, "", capsys)

    assert len(replayed) == 1
    assert hosts.asked == (1, 0)


@pytest.mark.promise("history-host")
@pytest.mark.parametrize("ambient", AMBIENT)
def test_status_says_which_host_has_the_history_and_which_does_not_get_it(
    ambient: str, shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    new_kernel(shell, hosts, ("beta",), ambient)
    if ambient == "a key":
        hosts.environment.setenv("NBTOOL_MODEL", "beta:m")
    run_command(shell, f"open {chat_id}", capsys)

    before = " ".join(run_command(shell, "status", capsys).split())
    say(shell, "-m beta:m", capsys)
    after = run_command(shell, "status", capsys)

    alpha, beta = netloc(hosts.alpha), netloc(hosts.beta)
    assert {alpha, beta} <= {word.strip("();") for word in before.split()}
    assert "`%%chat -m beta:m`" in before
    assert "`%%chat -m beta:m`" not in after


def test_a_chat_is_opened_by_the_id_of_one_of_its_turns(
    shell: Any, hosts: TwoHosts, chat_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_command(shell, "history search secret", capsys).split()[0]
    new_kernel(shell, hosts, ("alpha",), "a key")

    opened = run_command(shell, f"open {found}", capsys)
    shell.run_cell("%chat open turn_0000ffff")
    unknown = capsys.readouterr().err

    assert opened.startswith(f"{chat_id} ")
    assert "1 turn" in opened
    assert "--switch" not in opened
    assert "turn_0000ffff" in unknown


@pytest.mark.usefixtures("chat_id")
def test_a_chat_that_is_opened_by_a_turn_of_another_branch_says_how_to_go_there(
    shell: Any, hosts: TwoHosts, capsys: pytest.CaptureFixture[str]
) -> None:
    first = short_id(kernel_chats(shell).chat("main").tree.active_path[0].turn.turn_id)
    run_command(shell, "branch", capsys)
    say(shell, "", capsys)
    new_kernel(shell, hosts, ("alpha",), "a key")

    opened = " ".join(run_command(shell, f"open {first}", capsys).split())
    switched = run_command(shell, f"branch {first} --switch", capsys)

    assert f"`%chat branch {first} --switch`" in opened
    assert switched.startswith("Switched to")
