"""Agents in cells and commands, and on the next day."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.utils.capture import capture_output

from nbtool.chat.agent_turns import agent_of
from nbtool.chat.chat import Chat
from nbtool.chat.turn import Turn
from nbtool.plugins.privacy import Privacy
from nbtool.threads.loop import run_sync
from tests.shells import end_shell, new_shell
from tests.wire.agents.agents import Scripted
from tests.wire.agents.test_sessions import BY_LOAD, NO_WAY, PAST, UNKNOWN, has_transcript

pytestmark = pytest.mark.usefixtures("own_journal")
TOOL = """
ran = []
def act(number: int) -> int:
    "Act."
    ran.append(number)
    return number
"""


class Day:
    """A kernel of one day: its shell, and what its cells print."""

    def __init__(self) -> None:
        self.shell = new_shell()
        self.run("%load_ext nbtool")

    def run(self, cell: str) -> str:
        with capture_output() as captured:
            self.shell.run_cell(cell)
        return f"{captured.stdout}{captured.stderr}"

    def ask(self, prompt: str, flags: str = "") -> Turn:
        printed = self.run(f"%%chat {flags} -o turn --set replace_names=true\n{prompt}")
        assert "turn" in self.shell.user_ns, printed
        turn: Turn = self.shell.user_ns["turn"]
        return turn

    @property
    def chat(self) -> Chat:
        return list(self.chats.values())[-1]

    @property
    def chats(self) -> dict[str, Chat]:
        chats: dict[str, Chat] = self.shell.magics_manager.magics["cell"]["chat"].__self__.kernel_chats.chats
        return chats

    def end(self) -> None:
        """End the kernel: its agents end with it."""
        for one in self.chats.values():
            if agent := agent_of(one):
                run_sync(agent.close())
        end_shell()


@pytest.fixture
def agent(tmp_path: Path) -> Scripted:
    """The agent of a test, which answers three prompts."""
    return Scripted(tmp_path, {"prompts": [[{"say": f"Answer {number}."}] for number in (1, 2, 3)]})


@pytest.fixture
def day() -> Iterator[Day]:
    """A kernel with nbtool."""
    one = Day()
    yield one
    one.end()


def test_a_cell_names_an_agent_and_the_next_one_stays_with_it(agent: Scripted, day: Day) -> None:
    first = day.ask("First.", "-m acp:claude")
    second = day.ask("Second.")

    assert (first.text, second.text, second.model) == ("Answer 1.", "Answer 2.", "acp:claude")
    assert len(agent.requests("session/new")) == 1


@pytest.mark.every_case
@pytest.mark.parametrize(
    "flags",
    [
        "--approve later",
        "--approve park",
        "--option temperature=0",
        "-t web_search",
        "--dry-run",
        "--rerun :resume",
        "--rerun :tools",
        "--set wire=chat",
        "--set tool_mode=prompted",
        "--set base_url=http://127.0.0.1:1",
    ],
)
def test_a_flag_that_is_not_for_an_agent_is_refused_in_one_line(agent: Scripted, day: Day, flags: str) -> None:
    day.ask("First.", "-m acp:claude")
    prompts = len(agent.prompts())

    printed = day.run(f"%%chat -m acp:claude {flags}\n{'' if flags.startswith('--re') else 'Second.'}")

    assert len(agent.prompts()) == prompts
    assert len(printed.strip().splitlines()) == 1


@pytest.mark.parametrize("name", ["acp:codex", "acp:claude+tools", "acp:nobody"])
def test_an_agent_that_is_not_offered_is_refused_in_one_line(agent: Scripted, day: Day, name: str) -> None:
    printed = day.run(f"%%chat -m {name}\nHello.")

    assert len(printed.strip().splitlines()) == 1
    assert agent.entries == []


def test_calls_are_stored_under_names_and_reach_the_next_prompt(tmp_path: Path, day: Day) -> None:
    script = {"prompts": [[{"call": {"name": "act", "arguments": {"number": 1}}}, {"say": "Done."}]]}
    agent = Scripted(tmp_path, script)
    day.run(TOOL)

    turn = day.ask("Act.", "-m acp:claude -t act --approve auto")

    assert day.shell.user_ns["ran"] == [1]
    assert [call.status for call in turn.calls] == ["ok"]
    code = day.run("%chat export py --cell")
    assert code
    assert agent.all_of("result")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("script", "way", "is_repeated"),
    [
        ({}, "session/resume", False),
        ({"initialize": BY_LOAD, "during session/load": PAST}, "session/load", False),
        ({"initialize": NO_WAY}, "session/new", True),
        ({"session/resume": UNKNOWN, "session/load": UNKNOWN}, "session/new", True),
    ],
)
def test_on_the_next_day_a_chat_goes_on_by_what_the_agent_can(
    tmp_path: Path, script: dict[str, Any], way: str, is_repeated: bool
) -> None:
    agent = Scripted(tmp_path, {"prompts": [[{"say": "Answer 1."}], [{"say": "Answer 2."}]], **script})
    today = Day()
    today.ask("First.", "-m acp:claude")
    chat_id = today.chat.chat_id
    today.end()

    tomorrow = Day()
    tomorrow.run(f"%chat open {chat_id}")
    turn = tomorrow.ask("Second.", "-m acp:claude")
    tomorrow.end()

    assert turn.status == "completed"
    opened = [entry["method"] for entry in agent.entries if entry.get("method") in (way, "session/new")]
    assert opened[-1] == way
    assert has_transcript(agent.prompts()[-1]) is is_repeated
    assert sum(event.kind == "notice" for event in turn.log) >= 1


def test_on_the_next_day_a_session_that_has_seen_more_than_the_chat_is_not_used(tmp_path: Path) -> None:
    agent = Scripted(tmp_path, {"prompts": [[{"say": f"Answer {number}."}] for number in (1, 2, 3)]})
    today = Day()
    first = today.ask("First.", "-m acp:claude")
    second = today.ask("Second.")
    chat_id = today.chat.chat_id
    today.run(f"%chat history erase {second.turn_id}")
    today.end()

    tomorrow = Day()
    tomorrow.run(f"%chat open {chat_id}")
    tomorrow.ask("Third.", "-m acp:claude")
    tomorrow.end()

    assert first.turn_id
    assert agent.requests("session/resume") == []
    last = agent.prompts()[-1]
    assert ("First." in last, "Second." in last) == (True, False)


def test_private_values_are_masked_on_the_way_to_an_agent_and_restored_on_the_way_back(
    tmp_path: Path, day: Day
) -> None:
    script = {"prompts": [[{"say": "Hello."}], [{"say": "Again."}]]}
    agent = Scripted(tmp_path, script)
    day.ask("First.", "-m acp:claude")
    day.chat.plugins = [Privacy(["email"])]

    day.ask("Write to ada@example.org.")
    day.chat.hide(day.chat.tree.active_path[0].turn)
    day.ask("And now?")

    assert "ada@example.org" not in "".join(agent.prompts()[1:])


def test_a_recorded_turn_of_an_agent_is_replayed_without_it(tmp_path: Path, day: Day) -> None:
    script = {"prompts": [[{"call": {"name": "act", "arguments": {"number": 1}}}, {"say": "Done."}]]}
    agent = Scripted(tmp_path, script)
    day.run(TOOL)
    day.run(f"%chat record {tmp_path / 'turns.json'}")
    first = day.ask("Act.", "-m acp:claude -t act --approve auto")
    seen = len(agent.entries)
    day.run(f"%chat record {tmp_path / 'turns.json'} --only")

    again = day.ask("Act.", "--new -m acp:claude -t act --approve auto")

    assert (first.text, again.text, again.status) == ("Done.", "Done.", "completed")
    assert len(agent.entries) == seen


def test_the_journal_has_what_the_agent_is(agent: Scripted, day: Day) -> None:
    turn = day.ask("First.", "-m acp:claude")

    assert agent.prompts()
    native = turn.messages.chain[-1].native
    assert native is not None
    assert (native.wire, native.host, native.model) == ("acp", "acp:claude", "claude")
    assert native.payload == {
        "agent": "claude", "about": "scripted 0.101.0", "protocol": 1, "mode": "default", "level": "notebook only",
        "session": "S1",
    }  # fmt: skip


def test_erasing_a_chat_ends_its_agent_and_forgets_its_session(agent: Scripted, day: Day) -> None:
    day.ask("First.", "-m acp:claude")
    session = agent_of(day.chat).session  # type: ignore[union-attr]
    assert session
    chat_id = day.chat.chat_id

    day.run(f"%chat history erase {chat_id}")
    day.ask("Second.")

    assert len(agent.requests("session/new")) == 2
    assert "First." not in agent.prompts()[-1]
