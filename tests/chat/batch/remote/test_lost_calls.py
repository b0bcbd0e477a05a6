"""What a lost worker may have done is known to the next map, also where the worker had a journal of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.journal import journal
from nbtool.errors import NotRepeated, WorkerLost
from nbtool.testing import call
from tests.chaos import Received, Step, serve_by
from tests.chat.batch.remote.far_tools import ask_for, note_and_die, prompt_of, result_in, say
from tests.chat.batch.remote.test_pool import PROMPTS, use
from tests.chat.batch.test_streamed_map import rows_of

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]  # Dask warns of what it deprecates


@pytest.fixture
def near_client(tmp_path: Path) -> Iterator[Any]:
    """The client of a cluster of one process that writes to the journal of the test."""
    home = {"NBTOOL_HOME": os.environ["NBTOOL_HOME"]}
    cluster = distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path),
        env=home,
    )
    with cluster, distributed.Client(cluster) as of_cluster:
        yield of_cluster


@pytest.mark.promise("maps-once")
def test_a_call_that_may_have_run_on_a_worker_with_its_own_journal_is_not_run_by_the_next_map(
    client: Any, tmp_path: Path
) -> None:
    path = tmp_path / "notes"
    client.wait_for_workers(2)  # so that each runs one prompt at a time
    with serve_by(use("note_and_die", path=str(path))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_die])
        first = chat.map(PROMPTS[11:15], on=client, concurrency=2, chunk=2)
        second = chat.map(PROMPTS[11:15], on=client, concurrency=2, chunk=2)
        noted = path.read_text().split()
        third = chat.map(PROMPTS[11:15], on=client, concurrency=2, chunk=2, repeat_calls=True)

    lost = first.answers[2]
    assert type(lost.error) is WorkerLost
    assert [type(one.error) for one in second.errors] == [NotRepeated]
    assert second.errors[0].turn_id == lost.turn_id
    assert next(one["kind"] for one in journal().events(lost.turn_id)) == "turn_started"
    assert sorted(noted) == ["11", "12", "13", "14"]
    assert third.values == [f"p{n}: noted {n}" for n in range(11, 15)]
    assert path.read_text().split().count("13") == 2


@tool(run="auto")
def note_process(path: str, n: int) -> str:
    """Write a line, and say in which process."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{n}\n")
    return str(os.getpid())


def kill_after_the_call(prompt: str, path: Path) -> Callable[[Received], Sequence[Step]]:
    """Kill the worker that asks what to do with the result of this prompt's call, the first time."""
    killed: list[int] = []

    def respond(request: Received) -> Sequence[Step]:
        result = result_in(request)
        if result is None:
            return ask_for(call("note_process", path=str(path), n=int(prompt_of(request)[1:])))
        if prompt_of(request) == prompt and not killed:
            killed.append(int(result))
            os.kill(killed[0], signal.SIGKILL)
        return say("done")

    return respond


@pytest.mark.promise("maps-once")
def test_a_row_goes_on_from_the_calls_that_ended_on_a_lost_worker_with_this_journal(
    near_client: Any, tmp_path: Path
) -> None:
    path, notes = tmp_path / "a.sqlite", tmp_path / "notes"
    with serve_by(kill_after_the_call("p1", notes)) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_process])
        first = chat.map_into(path, PROMPTS[:3], on=near_client, chunk=1)
        second = chat.map_into(path, PROMPTS[:3], on=near_client, chunk=1)

    assert (first.answered, first.failed) == (2, 1)
    assert (second.answered, second.answered_before, second.failed) == (1, 2, 0)
    assert rows_of(path) == [(n, "done", None) for n in range(3)]
    assert sorted(notes.read_text().split()) == ["0", "1", "2"]
