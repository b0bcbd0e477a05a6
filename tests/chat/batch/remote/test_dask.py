"""Whole turns on a real Dask cluster of two processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.chat.batch.remote import find_engine
from nbtool.chat.journal import journal
from nbtool.errors import BadUsage, Cancelled, WorkerLost
from tests.chaos import Received, Silence, Step, head, serve_by
from tests.chat.batch.remote.far_tools import Deadly, note, note_and_die
from tests.chat.batch.remote.test_pool import PROMPTS, UPPER, shout, use
from tests.chat.batch.test_streamed_map import rows_of

Client = pytest.importorskip("distributed").Client

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]  # Dask warns of what it deprecates


def test_answers_are_those_of_this_process_and_their_turns_are_in_its_journal(client: Any) -> None:
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url)
        here, there = chat.map(PROMPTS, resume=False), chat.map(PROMPTS, on=client, resume=False, chunk=4)
        again = chat.map(PROMPTS, on=client)

    assert there.values == here.values == again.values == UPPER
    assert all(one.is_cached for one in again.answers)
    assert all(journal().events(one.turn.turn_id) for one in there.answers if one.turn)


def test_a_lost_worker_loses_no_answer_of_a_chat_without_tools(client: Any, tmp_path: Path) -> None:
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url, plugins=[Deadly("P13", tmp_path / "dead")])
        batch = chat.map(PROMPTS, on=client, chunk=4)

    assert (tmp_path / "dead").exists()
    assert batch.values == UPPER
    assert len(server.requests) > len(PROMPTS)


def test_a_lost_worker_repeats_no_effect_and_loses_only_the_prompt_whose_call_had_not_ended(
    client: Any, tmp_path: Path
) -> None:
    path = tmp_path / "notes"
    client.wait_for_workers(2)  # so that each runs one prompt at a time
    with serve_by(use("note_and_die", path=str(path))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_die])
        batch = chat.map(PROMPTS, on=client, concurrency=2, chunk=5)

    lines = [int(line) for line in path.read_text().split()]
    assert sorted(lines) == list(range(30))
    assert [one.index for one in batch.errors] == [13]  # the completed ones of its task are in the journal
    assert type(batch.errors[0].error) is WorkerLost
    assert all(one.value == f"p{one.index}: noted {one.index}" for one in batch.answers if not one.error)


def test_a_prompt_that_ends_every_worker_ends_no_other_prompt(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url, plugins=[Deadly("P3")])
        batch = chat.map(PROMPTS[:8], on=client, chunk=4)

    assert [one.index for one in batch.errors] == [3]
    assert type(batch.errors[0].error) is WorkerLost
    assert [one.value for one in batch.answers if not one.error] == [one for one in UPPER[:8] if one != "P3"]


def test_a_stop_cancels_the_running_prompts_and_returns_their_turns(client: Any) -> None:
    with serve_by(lambda _: [head(), Silence()]) as server:
        batch = Chat("tiny", base_url=server.url).start_map(["a", "b", "c"], on=client, concurrency=2)
        assert server.asked.wait(240)
        batch.cancel()
        batch.wait()
        assert server.left.wait(240)

    assert {type(one.error) for one in batch.answers} == {Cancelled}
    assert any(one.turn and one.turn.status == "cancelled" for one in batch.answers)


def test_the_worker_of_a_client_that_went_away_stops(client: Any) -> None:
    other = Client(client.scheduler.address, set_as_default=False)
    with serve_by(lambda _: [head(), Silence()]) as server:
        batch = Chat("tiny", base_url=server.url).start_map(["a", "b"], on=other, chunk=1)
        assert server.asked.wait(240)
        other.close()
        assert server.left.wait(240)
        batch.wait()

    assert {type(one.error) for one in batch.errors} == {WorkerLost}


def test_other_objects_of_dask_are_refused(client: Any) -> None:
    async def make_asynchronous_client() -> None:
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            find_engine(other)

    with client.get_executor(pure=False) as executor, pytest.raises(BadUsage, match=r"Pass the client: on=client\."):
        find_engine(executor)
    with pytest.raises(BadUsage, match="is asynchronous"):
        asyncio.run(make_asynchronous_client())


def test_a_client_that_is_closed_is_one_clear_line(client: Any) -> None:
    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    batch = Chat("tiny", base_url="http://127.0.0.1:9").map(["a", "b"], on=other)

    assert [type(one.error) for one in batch.answers] == [WorkerLost, WorkerLost]
    assert isinstance(batch.stop_reason, WorkerLost)


def test_a_map_into_a_file_continues_after_its_client_went_away(client: Any, tmp_path: Path) -> None:
    path, closed = tmp_path / "a.sqlite", threading.Event()
    other = Client(client.scheduler.address, set_as_default=False)

    def respond(request: Received) -> Sequence[Step]:
        if len(server.requests) == 20:
            threading.Thread(target=lambda: (other.close(), closed.set())).start()
        return shout(request)

    prompts = [f"p{n}" for n in range(60)]
    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url)
        with pytest.raises(WorkerLost, match="The Client takes no more tasks"):
            chat.map_into(path, prompts, on=other, chunk=3)
        assert closed.wait(240)
        stored = [row for row, value, _ in rows_of(path) if value]
        second = chat.map_into(path, prompts, on=client, chunk=3)

    assert 0 < len(stored) < 60
    assert second.answered + second.answered_before == 60
    assert second.answered_before >= len(stored)  # and those that did not come home
    assert rows_of(path) == [(n, f"P{n}", None) for n in range(60)]


def test_a_large_object_goes_to_each_worker_and_is_found_again_when_one_is_lost(client: Any, tmp_path: Path) -> None:
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url, plugins=[Deadly("P13", tmp_path / "dead")])
        chat.expose(data=bytes(range(256)) * 1_000)
        batch = chat.map(PROMPTS, on=client, chunk=3)

    assert (tmp_path / "dead").exists()
    assert batch.values == UPPER


def test_a_tool_writes_its_line_once_for_each_prompt(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    with serve_by(use("note", path=str(path))) as server:
        batch = Chat("tiny", base_url=server.url, tools=[note]).map(PROMPTS, on=client)

    assert batch.values == [f"p{n}: noted {n}" for n in range(30)]
    assert sorted(path.read_text().split(), key=int) == [str(n) for n in range(30)]
