"""What the workers of a real Dask cluster ask is asked at home."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import WorkerLost
from nbtool.tools.approval import Approved, Decision, Denied, Question, QueueChange, Released, Undecided, Withheld
from tests.chaos import serve_by
from tests.chat.batch.remote.dask_queues import count_queues
from tests.chat.batch.remote.far_tools import checked, note_asked
from tests.chat.batch.remote.test_pool import use
from tests.chat.batch.remote.test_questions import decisions_of

Client = pytest.importorskip("distributed").Client

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]  # Dask warns of what it deprecates


def test_each_question_of_each_worker_is_decided_once_at_home(client: Any, tmp_path: Path) -> None:
    path, threads, asked = tmp_path / "notes", set(), []

    def decide(question: Question) -> Decision:
        threads.add(threading.current_thread())
        asked.append(question)
        n = question.arguments["n"]
        return (Approved(), Denied("not that one"), Approved({**question.arguments, "n": 100 + n}))[n % 3]

    before = count_queues(client)
    with serve_by(use("note_asked", path=str(path))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_asked], approver=decide)
        batch = chat.map([f"p{n}" for n in range(12)], on=client, chunk=2)
    while count_queues(client) > before:  # a queue is released without an answer: its message may be on the way
        client.run_on_scheduler(lambda: None)

    assert not batch.errors
    assert sorted(map(int, path.read_text().split())) == [0, 3, 6, 9, 102, 105, 108, 111]
    assert sorted(question.arguments["n"] for question in asked) == list(range(12))
    assert threads == {threading.current_thread()}
    assert sorted(verdict for verdict, *_ in decisions_of(batch)) == ["approved"] * 8 + ["denied"] * 4
    assert all(reason == "not that one" for verdict, _, reason, _ in decisions_of(batch) if verdict == "denied")


def test_results_are_released_at_home(client: Any) -> None:
    def decide(question: Question) -> Decision:
        return Released("edited") if "1" in question.shown else Withheld("private")

    with serve_by(use("checked")) as server:
        chat = Chat("tiny", base_url=server.url, tools=[checked], approver=decide)
        batch = chat.map(["p1", "p2"], on=client, chunk=1)

    assert batch.values[0] == "p1: edited"
    assert batch.values[1].startswith("p2: ")
    assert batch.values[1].endswith(": private")


def test_the_question_of_a_lost_worker_is_withdrawn_and_asked_again_by_the_next_one(
    client: Any, tmp_path: Path
) -> None:
    path, changes = tmp_path / "notes", []

    def decide(_: Question) -> Decision | Undecided:
        if sum(kind == "asked" for kind, _ in changes) > 1:
            return Approved()
        worker = next(address for address, tasks in client.processing().items() if tasks)
        os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
        return Undecided()

    with serve_by(use("note_asked", path=str(path))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_asked], approver=decide)  # type: ignore[arg-type]
        chat.approvals.add_listener(lambda change: changes.append((change.kind, change.question.digest)))
        batch = chat.map(["p1"], on=client)

    assert batch.values == ["p1: noted 1"]
    assert path.read_text().split() == ["1"]
    digests = [digest for kind, digest in changes if kind == "asked"]
    assert len(set(digests)) == 2
    assert sorted(changes) == sorted(
        [("asked", digests[0]), ("withdrawn", digests[0]), ("asked", digests[1]), ("decided", digests[1])]
    )


def test_an_open_question_ends_with_the_client_and_its_call_does_not_run(client: Any, tmp_path: Path) -> None:
    path, changes = tmp_path / "notes", []
    other = Client(client.scheduler.address, set_as_default=False)

    def close(change: QueueChange) -> None:
        changes.append(change.kind)
        if change.kind == "asked":
            threading.Thread(target=other.close).start()

    with serve_by(use("note_asked", path=str(path))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_asked], approver=lambda _: Undecided())
        chat.approvals.add_listener(close)
        batch = chat.map(["p1"], on=other)

    assert changes == ["asked", "withdrawn"]
    assert [type(one.error) for one in batch.answers] == [WorkerLost]
    assert not path.exists()
