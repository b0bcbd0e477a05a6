"""Whole turns in a process that has one thread and no socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtool import Chat, tool
from nbtool.chat.journal import Journal, journal, queries
from nbtool.tools.approval import Approved, Denied, Question
from nbtool.wire.transport.models.default_model import find_model
from tests.one_thread import one_thread


@pytest.fixture(autouse=True)
def one_thread_only() -> Iterator[None]:
    with one_thread():
        journal.cache_clear()
        yield
        journal.cache_clear()


@tool(run="auto")
def double(x: int) -> int:
    """Double a number."""
    return 2 * x


@tool(run="auto")
async def half(x: int) -> float:
    """Halve a number, slowly."""
    await asyncio.sleep(0.01)
    return x / 2


@tool
def erase(name: str) -> str:
    """Erase something."""
    return f"erased {name}"


def test_a_turn_calls_tools_of_both_kinds_and_is_in_the_journal_on_disk() -> None:
    chat = Chat(model="practice:fast", tools=[double, half])
    turn = chat.send("Use &`double` with 21, and &`half` with 8.")

    assert [call.result for call in turn.calls] == [42, 4.0]
    assert turn.status == "completed"
    path = journal().path
    assert path
    assert path.is_file()
    kinds = [event["kind"] for event in journal().events(turn.turn_id)]
    assert kinds[0] == "turn_started"
    assert kinds[-1] == "turn_ended"
    assert kinds.index("call_started") < kinds.index("call_finished")


def test_the_gates_ask_and_a_denial_stops_the_call() -> None:
    questions: list[str] = []

    async def decide(question: Question) -> Approved | Denied:
        questions.append(question.gate)
        await asyncio.sleep(0)
        return Denied("keep it")

    chat = Chat(model="practice:fast", tools=[erase])
    turn = chat.send('Use &`erase` with "draft".', approver=decide)

    assert questions == ["run"]
    assert [call.status for call in turn.calls] == ["denied"]


def test_many_prompts_are_answered_and_can_be_iterated() -> None:
    chat = Chat(model="practice:fast")

    assert len(chat.map(["one", "two", "three"]).answers) == 3
    assert len(list(chat.start_map(["one", "two"]))) == 2


def test_a_tool_may_itself_run_a_turn() -> None:
    inner = Chat(model="practice:fast")

    @tool(run="auto")
    def ask_again(question: str) -> str:
        """Ask another model."""
        return inner.send(question).status

    turn = Chat(model="practice:fast", tools=[ask_again]).send('Use &`ask_again` with "Hello".')

    assert [call.result for call in turn.calls] == ["completed"]


def test_no_local_server_is_looked_for() -> None:
    assert find_model().model_id == "practice:default"


def test_a_journal_that_cannot_be_written_is_kept_in_memory(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    book = Journal(blocked / "journal.sqlite")

    with pytest.warns(UserWarning, match="history stays in memory"):
        asyncio.run(_write_nothing(book))
    assert book.path is None
    assert book.read(lambda connection: queries.events(connection, "t")) == []


async def _write_nothing(book: Journal) -> None:
    await book.write("c", "t", [])
