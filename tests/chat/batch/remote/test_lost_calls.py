"""What a lost worker may have done is known to the next map."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat, tool
from nbtool.chat.journal import journal
from nbtool.errors import NotRepeated, WorkerLost
from nbtool.testing import call
from tests.chaos import Received, Silence, Step, head, serve_by
from tests.chat.batch.remote.dask_queues import count_queues
from tests.chat.batch.remote.far_tools import ask_for, note, note_and_die, prompt_of, result_in, say
from tests.chat.batch.remote.test_pool import PROMPTS, use
from tests.chat.batch.test_streamed_map import rows_of

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]  # Dask warns of what it deprecates


@pytest.mark.promise("maps-once")
def test_a_call_that_may_have_run_on_a_lost_worker_is_not_run_by_the_next_map(client: Any, tmp_path: Path) -> None:
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
    for one in (lost, second.errors[0]):
        assert next(event["kind"] for event in journal().events(one.turn_id)) == "turn_started"
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
def test_a_row_goes_on_from_the_calls_that_ended_on_a_lost_worker(client: Any, tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sqlite", tmp_path / "notes"
    with serve_by(kill_after_the_call("p1", notes)) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_process])
        totals = chat.map_into(path, PROMPTS[:3], on=client, chunk=1)

    assert (totals.answered, totals.failed) == (3, 0)
    assert rows_of(path) == [(n, "done", None) for n in range(3)]
    assert sorted(notes.read_text().split()) == ["0", "1", "2"]


DRIVER = """
import sys
from distributed import Client
from nbtool import Chat
from tests.chat.batch.remote.far_tools import note

with Client(sys.argv[1]) as client:
    chat, prompts = Chat("tiny", base_url=sys.argv[2], tools=[note]), [f"p{n}" for n in range(6)]
    if sys.argv[3]:
        chat.map_into(sys.argv[3], prompts, on=client, concurrency=1, chunk=6, progress=False)
    else:
        chat.map(prompts, on=client, concurrency=1, chunk=6, progress=False)
"""


@pytest.mark.promise("maps-once")
@pytest.mark.parametrize("file", ["", "a.sqlite"])
def test_the_next_map_knows_what_workers_did_for_a_killed_process(client: Any, tmp_path: Path, file: str) -> None:
    notes, script, is_third = tmp_path / "notes", tmp_path / "script.py", threading.Event()
    script.write_text(DRIVER)

    def respond(request: Received) -> Sequence[Step]:
        if prompt_of(request) == "p2" and result_in(request) and not is_third.is_set():
            is_third.set()
            return [head(), Silence()]  # its call ended
        return use("note", path=str(notes))(request)

    path, prompts = file and str(tmp_path / file), PROMPTS[:6]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])}
    with serve_by(respond) as server:
        command = [sys.executable, str(script), client.scheduler.address, server.url, path]
        process = subprocess.Popen(command, env=env)
        try:
            assert is_third.wait(240)
        finally:
            process.kill()
            process.wait()
        chat, asked = Chat("tiny", base_url=server.url, tools=[note]), len(server.requests)
        if path:
            totals = chat.map_into(path, prompts, on=client)
            values = [value for _, value, _ in rows_of(Path(path))]
            assert (totals.answered_before, totals.answered) == (2, 4)
        else:
            batch = chat.map(prompts, on=client)
            values = batch.values
            assert [one.is_cached for one in batch.answers] == [True] * 2 + [False] * 4
        requests = len(server.requests) - asked

    assert values == [f"p{n}: noted {n}" for n in range(6)]
    assert sorted(notes.read_text().split()) == [str(n) for n in range(6)]
    assert requests == 1 + 3 * 2  # the third prompt goes on with the result of its call


@pytest.mark.promise("maps-once")
def test_a_call_in_an_executor_of_dask_is_not_run_again_when_its_worker_is_lost(client: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    before = count_queues(client)
    with serve_by(use("note_and_die", path=str(path))) as server, client.get_executor(pure=False) as executor:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_die])
        first = chat.map(PROMPTS[12:15], executor=executor, concurrency=1)
        second = chat.map(PROMPTS[12:15], executor=executor)

    assert sorted(path.read_text().split()) == ["12", "13", "14"]
    assert [one.turn.calls[0].status for one in first.answers if one.turn] == ["ok", "unknown", "ok"]
    assert "Dask" in first.values[1]
    assert [(one.index, type(one.error)) for one in second.errors] == [(1, NotRepeated)]
    while count_queues(client) > before + 1:  # the lost worker may not have released the one of its call
        client.run_on_scheduler(lambda: None)


@tool(run="auto")
def note_and_wait(path: str, n: int) -> str:
    """Write a line, and wait until there is a file."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{n}\n")
    while not Path(f"{path}-end").exists():
        time.sleep(0.01)  # of the tool: nothing waits for it
    return "noted"


@pytest.mark.promise("maps-once")
def test_a_stopped_map_knows_which_of_its_prompts_a_worker_may_still_run(client: Any, tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sqlite", tmp_path / "notes"
    with serve_by(use("note_and_wait", path=str(notes))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_wait])
        threading.Thread(target=interrupt_when, args=(notes,)).start()
        with pytest.raises(KeyboardInterrupt):
            chat.map_into(path, PROMPTS[:4], on=client, concurrency=1, chunk=4)
        Path(f"{notes}-end").touch()
        totals = chat.map_into(path, PROMPTS[:4], on=client)

    assert (totals.answered, totals.failed) == (3, 1)
    assert [row for row, _, error in rows_of(path) if error] == [0]
    assert sorted(notes.read_text().split()) == ["0", "1", "2", "3"]


def interrupt_when(path: Path) -> None:
    """Interrupt this process once there is such a file."""
    while not path.exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
