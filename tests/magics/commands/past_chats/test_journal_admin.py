from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nbtool.chat.journal import journal
from nbtool.ids import short_id
from nbtool.magics.commands.past_chats import journal_admin
from tests.magics.commands.saying import run_command
from tests.magics.parking import ParkingChat
from tests.policy.in_force import policy_in_force


@pytest.fixture(autouse=True)
def own_home() -> Iterator[None]:
    journal.cache_clear()
    yield
    journal.cache_clear()


def chat_id(shell: Any, capsys: pytest.CaptureFixture[str]) -> str:
    return run_command(shell, "history chats", capsys).split()[0]


def test_chats_are_listed_searched_and_framed(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")

    assert "marmot" in run_command(shell, "history chats", capsys)
    found = run_command(shell, "history search marmot", capsys)
    assert re.match(r"turn_[0-9a-f]{8}  \S+ \S+  prompt  .*  \(chat_[0-9a-f]{8}\)\n", found)
    assert "turn_" not in run_command(shell, "history search badger", capsys)
    assert "of 1 turn." in run_command(shell, "history frame past", capsys)
    frame = shell.user_ns["past"]
    assert [prompt.split()[1] for prompt in frame.prompt] == ["marmot,"]
    assert frame.started.dt.year[0] > 2000
    assert list(frame.status) == ["completed"]


def test_an_old_chat_goes_on_in_a_new_kernel(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("df = 1")
    shell.run_cell("%%chat -q -m practice:fast\nWhat is in $`df`?")
    shell.run_cell("%%chat -q -m practice:fast\nAnd the second")
    has_started = chat_id(shell, capsys)
    shell.run_line_magic("reload_ext", "nbtool")
    shell.run_cell("%%chat -q -m practice:fast\nAnother conversation")

    another = chat_id(shell, capsys)
    opened = run_command(shell, f"open {has_started[:12]}", capsys)

    assert opened.startswith(f"{has_started[:13]} continues here")
    assert f"`%chat open {another[:13]}`" in opened
    assert "2 turns" in opened
    assert "the second" in run_command(shell, "history", capsys)
    assert "`--read NAME`" in opened
    assert "administrator" not in opened
    assert "\n\ndf  int; 28 bytes; " in run_command(shell, "tools", capsys)
    shell.run_cell("%%chat -q -m practice:fast\nThird")
    again = run_command(shell, f"open {has_started}", capsys)
    assert "3 turns" in again
    assert "until now" not in again


def test_a_turn_that_broke_off_is_reported_as_interrupted_with_what_goes_on_with_it(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    parking = ParkingChat()
    shell.magics_manager.registry["ChatMagics"].chats["main"] = parking.chat
    turn = parking.park()

    opened = run_command(shell, f"-c past open {parking.chat.chat_id}", capsys)  # the journal tells of no end yet

    assert f"`%%chat --rerun {short_id(turn.turn_id)}:resume`" in opened
    assert f"not run; Pay.  [{turn.turn_id}]" in run_command(shell, "-c past history --ids", capsys)
    turn.abort()


@pytest.mark.parametrize(
    ("count", "said"),
    [(9, " 2 of other notebooks are not included; `%chat history frame --all` includes them."),
     (10, " 2 of other notebooks are not included; `%chat history frame --all` includes them."
          " Of the journal the latest 10 turns were read.")],
)  # fmt: skip
def test_a_frame_says_which_turns_it_lacks(count: int, said: str) -> None:
    assert journal_admin._describe_left_out(count, 2, limit=10) == said


def test_what_is_erased_is_gone(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")
    has_started = chat_id(shell, capsys)

    assert "1 turn" in run_command(shell, f"history erase {has_started[:10]}", capsys)
    assert "chat_" not in run_command(shell, "history chats", capsys)


def test_erasing_all_says_how_much(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")

    said = run_command(shell, "history erase all", capsys)
    assert said.startswith("1 turn erased")
    assert "chat_" not in run_command(shell, "history list", capsys)


def test_an_open_chat_that_is_erased_has_no_turns_and_the_next_prompt_begins_another(
    shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")
    erased = chat_id(shell, capsys)

    said = run_command(shell, f"history erase {erased}", capsys)
    assert said.startswith(f"{erased} erased: 1 turn.")
    assert "marmot" not in run_command(shell, "history", capsys)

    shell.run_cell("%%chat -q -m practice:fast\nA badger, please")
    assert chat_id(shell, capsys) != erased
    assert "No match" in run_command(shell, "history search marmot", capsys)


def test_a_turn_that_is_erased_leaves_the_open_chat(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast -o first\nA marmot, please")
    shell.run_cell("%%chat -q -m practice:fast\nA badger, please")

    said = run_command(shell, f"history erase {shell.user_ns['first'].turn_id}", capsys)
    assert "1 turn." in said
    listed = run_command(shell, "history", capsys)
    assert "marmot" not in listed
    assert "badger" in listed


def test_a_vacuum_says_what_it_did(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")

    assert "0 turns deleted" in run_command(shell, "history vacuum 30", capsys)
    assert "1 turn deleted" in run_command(shell, "history vacuum 0", capsys)
    assert "0 turns deleted" in run_command(shell, "history vacuum --rewrite 30", capsys)


def test_a_vacuum_says_what_stays_free_in_an_earlier_file(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal().path
    assert path is not None
    with closing(sqlite3.connect(path)) as connection:  # as earlier versions created it
        connection.execute("PRAGMA auto_vacuum = NONE")
        connection.execute("CREATE TABLE other (body TEXT)")
    shell.run_cell("%%chat -q -m practice:fast\nA marmot, please")

    said = run_command(shell, "history vacuum 0", capsys)
    assert "`%chat history vacuum --rewrite`" in said
    assert "free" not in run_command(shell, "history vacuum --rewrite", capsys)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("history nonsense", "Unknown arguments of %chat history: 'nonsense'"),
        ("history erase", "Unknown arguments of %chat history"),
        ("history erase chat_nothing", "no chat or turn id starts"),
        ("history vacuum soon", "expected a number of 0 or more"),
        ("history frame 1x", "not a valid variable name"),
        ("history search ???", "no word"),
        ("open", "takes the id"),
        ("-c", "takes the name of a chat"),
        ("open chat_nothing", "In the journal no chat id starts"),
        ("open talks/old.json", "There is no file 'old.json', and in the journal no chat id starts"),
    ],
)
def test_bad_usage_is_one_line(shell: Any, capsys: pytest.CaptureFixture[str], command: str, why: str) -> None:
    capsys.readouterr()
    shell.run_cell(f"%chat {command}")
    out = capsys.readouterr()

    assert why in out.out + out.err
    assert "Traceback" not in out.out + out.err


def test_other_notebooks_are_named_without_folders_and_their_prompts_are_reported_where_asked(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, prompt in ((tmp_path / "sub" / "near.ipynb", "A marmot"), (Path("/far/away/other.ipynb"), "A badger")):
        monkeypatch.setenv("JPY_SESSION_NAME", str(path))
        journal.cache_clear()
        shell.run_cell(f"%%chat -q -c {path.stem} -m practice:fast\n{prompt}")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "sub" / "near.ipynb"))
    journal.cache_clear()

    listed, every = run_command(shell, "history chats", capsys), run_command(shell, "history chats --all", capsys)
    own, frames = (
        run_command(shell, "history frame own", capsys),
        run_command(shell, "history frame every --all", capsys),
    )

    for text in (listed, every):
        assert "(sub/near.ipynb)" in text
        assert "(other.ipynb)" in text
        assert "away" not in text
        assert str(tmp_path) not in text
        assert "A marmot" in text
    assert "A badger" not in listed
    assert "`%chat history list --all` shows them" in listed
    assert "A badger" in every
    assert list(shell.user_ns["own"].prompt) == ["A marmot"]
    assert "1 turn." in own
    assert "`%chat history frame --all`" in own
    assert sorted(shell.user_ns["every"].notebook) == ["other.ipynb", "sub/near.ipynb"]
    assert "--all" not in frames


def test_an_opened_chat_names_no_read_flag_that_the_policy_forbids(
    shell: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shell.run_cell("df = 1")
    shell.run_cell("%%chat -q -m practice:fast\nWhat is in $`df`?")
    opened_id = chat_id(shell, capsys)
    run_command(shell, "new", capsys)
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        opened = run_command(shell, f"open {opened_id}", capsys)

    assert "--read" not in opened
    assert "df" in opened


def test_hits_of_a_search_name_the_notebook_and_a_chat_by_its_id_only_where_it_had_none(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = {"near": str(tmp_path / "sub" / "near.ipynb"), "other": "/far/away/other.ipynb", "without": ""}
    for name, path in paths.items():
        monkeypatch.setenv("JPY_SESSION_NAME", path)
        journal.cache_clear()
        shell.run_cell(f"%%chat -q -c {name} -m practice:fast\nA wolverine")
    without = short_id(shell.magics_manager.registry["ChatMagics"].chats["without"].chat_id)

    found = run_command(shell, "history search wolverine", capsys)

    assert "(sub/near.ipynb)" in found
    assert "(other.ipynb)" in found
    assert f"({without})" in found
    assert found.count("(chat_") == found.count(f"({without})")
    assert "away" not in found
