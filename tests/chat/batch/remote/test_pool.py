"""Whole turns in a pool of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Chat
from nbtool.chain.hooks import JournalContext
from nbtool.chat.batch import Answer
from nbtool.chat.batch.remote.lost_worker import NOT_REPEATED, NOT_STARTED
from nbtool.chat.journal import journal
from nbtool.errors import AuthenticationFailed, Cancelled, WorkerLost
from nbtool.plugins.budget import Price
from nbtool.plugins.privacy import Privacy
from nbtool.testing import call
from tests.chaos import Received, Silence, Step, event, finish, head, serve, serve_by, text, whole
from tests.chat.batch.remote import far_tools
from tests.chat.batch.remote.far_tools import approve, asked, note, note_and_die, prompt_of, result_in, same, where
from tests.chat.batch.test_streamed_map import rows_of

PROMPTS = [f"p{n}" for n in range(30)]
UPPER = [prompt.upper() for prompt in PROMPTS]


def shout(request: Received) -> Sequence[Step]:
    return far_tools.say(prompt_of(request).upper())


def use(name: str, **arguments: Any) -> Any:
    """Have the model call a tool once for each prompt `pN`, with n=N, and then say its result."""

    def respond(request: Received) -> Sequence[Step]:
        result = result_in(request)
        if result is not None:
            return far_tools.say(f"{prompt_of(request)}: {result}")
        return far_tools.ask_for(call(name, n=int(prompt_of(request)[1:]), **arguments))

    return respond


def test_answers_are_those_of_this_process_in_order_and_of_the_workers(pool: Executor) -> None:
    def respond(request: Received) -> Sequence[Step]:
        return far_tools.say(result_in(request) or "") if result_in(request) else far_tools.ask_for(call("where"))

    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url, system="Be brief.")
        here, there = chat.map(PROMPTS, resume=False), chat.map(PROMPTS, on=pool, resume=False)
    with serve_by(respond) as server:
        places = Chat("tiny", base_url=server.url, tools=[where]).map(PROMPTS[:8], on=pool, chunk=2).values

    assert there.values == here.values == UPPER
    assert [one.turn.text for one in there.answers if one.turn] == UPPER
    assert repr(there) == "<Batch: 30 of 30 prompts>"
    assert str(os.getpid()) not in places
    assert len(set(places)) == 2


def test_a_column_of_a_type_and_what_does_not_fit_it(pool: Executor) -> None:
    frame = pd.DataFrame({"n": ["1", "2", "x"]}, index=[30, 10, 20])
    with serve_by(lambda request: far_tools.say(prompt_of(request)[-1])) as server:
        batch = Chat("tiny", base_url=server.url).map("Give {n}", frame, as_=int, on=pool)

    assert list(batch.values[:2]) == [1, 2]
    assert batch.values[20] is pd.NA
    assert [(one.label, type(one.error).__name__) for one in batch.errors] == [(20, "InvalidAnswer")]


def test_an_error_of_a_provider_comes_home_with_its_class_and_its_fix(pool: Executor) -> None:
    with serve(whole(401, {"error": {"message": "bad key"}})) as server:
        here, there = (
            Chat("tiny", base_url=server.url).map(["a"], **how, resume=False).answers[0] for how in ({}, {"on": pool})
        )

    assert isinstance(there.error, AuthenticationFailed)
    assert (str(there.error), there.error.status) == (str(here.error), 401)
    assert there.turn
    assert (there.turn.status, there.turn.error) == ("error", there.error)


def test_given_prices_count_the_cost_on_workers_too(pool: Executor) -> None:
    used = event({"choices": [], "usage": {"prompt_tokens": 400_000, "completion_tokens": 100_000}})
    with serve(head(), text("Done."), finish(), used) as server:
        batch = Chat("tiny", base_url=server.url).map(["a", "b"], on=pool, prices={"tiny": Price(1.0, 1.0)})

    assert batch.usage.cost == 1.0
    assert repr(batch).endswith("1,000,000 tokens, about $1.0000>")


def test_a_limit_of_a_minute_holds_on_workers(pool: Executor) -> None:
    with serve_by(shout) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS[:4], on=pool, chunk=2, per_minute=60_000)

    assert batch.values == UPPER[:4]


def test_turns_are_in_the_journal_at_home_and_are_not_sent_again(pool: Executor) -> None:
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url)
        first = chat.map(PROMPTS[:5], on=pool)
        before = len(server.requests)
        again = chat.map(PROMPTS[:5], on=pool)
        here = chat.map(PROMPTS[:5])

    kinds = [event["kind"] for event in journal().events(first.answers[0].turn.turn_id)]  # type: ignore[union-attr]
    assert kinds.count("turn_started") == kinds.count("turn_ended") == 1
    assert again.values == here.values == first.values
    assert all(one.is_cached for one in [*again.answers, *here.answers])
    assert len(server.requests) == before


@pytest.mark.sampled(0)
def test_a_worker_with_the_same_journal_writes_each_turn_once(own_pool: Executor) -> None:
    with serve_by(shout) as server:
        batch = Chat("tiny", base_url=server.url).map(PROMPTS[:4], on=own_pool)

    turns = [one.turn.turn_id for one in batch.answers if one.turn]
    kinds = [[event["kind"] for event in journal().events(turn)] for turn in turns]
    assert [one.count("turn_started") for one in kinds] == [1] * 4


def test_exposed_objects_and_tools_of_a_cell_are_those_of_the_chat(pool: Executor) -> None:
    names: dict[str, Any] = {"__name__": "__main__", "factor": 3}
    exec("def size(of: object) -> int:\n    'Give a size.'\n    return factor * len(of)", names)
    pytest.importorskip("cloudpickle")

    def respond(request: Received) -> Sequence[Step]:
        result = result_in(request)
        return far_tools.say(result) if result else far_tools.ask_for(call("size", of="$VAR_REF{{df}}"))

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, tools=[names["size"]], approver=approve)
        chat.expose(df=pd.DataFrame({"a": range(5)}))
        values = chat.map(["How long is $VAR_REF{{df}}?"], on=pool).values

    assert values == ["15"]


def test_gates_deny_on_a_worker_unless_there_is_an_approver_at_home(pool: Executor) -> None:
    with serve_by(use("asked")) as server:
        chat = Chat("tiny", base_url=server.url, tools=[asked])
        denied = chat.map(["p1"], on=pool).answers[0]
        approved = chat.map(["p1"], on=pool, approver=approve, resume=False).values
        results = [result_in(request) for request in server.requests[:2]]

    assert denied.turn
    assert denied.turn.calls[0].status == "denied"
    assert "did 1" not in (results[1] or "did 1")
    assert approved == ["p1: did 1"]


def test_no_more_prompts_run_at_a_time_than_allowed(pool: Executor) -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def respond(request: Received) -> Sequence[Step]:
        result = result_in(request)
        with lock:
            running[0] += 1 if result is None else -1
            most[0] = max(most[0], running[0])
        return use("same")(request)

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, tools=[same])
        batch = chat.map(PROMPTS, on=pool, concurrency=4, chunk=5)

    assert not batch.errors
    assert 1 < most[0] <= 4


def test_private_values_are_masked_on_a_worker(pool: Executor) -> None:
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url, plugins=[Privacy(names=["Grace Hopper"])])
        chat.map(["Write to Grace Hopper."], on=pool)
        sent = b"".join(request.body for request in server.requests)

    assert sent
    assert b"Hopper" not in sent


def test_a_pool_that_loses_a_process_repeats_no_effect(own_pool: Executor, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    with serve_by(use("note_and_die", path=str(path))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_die])
        batch = chat.map(PROMPTS, on=own_pool, concurrency=2, chunk=3)

    lines = path.read_text().split()
    assert sorted(lines) == sorted(set(lines))
    assert len(batch.answers) == len(PROMPTS)
    assert batch.errors
    assert {type(one.error) for one in batch.errors} == {WorkerLost}
    assert all(one.value == f"p{one.index}: noted {one.index}" for one in batch.answers if not one.error)
    assert {str(one.index) for one in batch.answers if not one.error} <= set(lines)
    assert NOT_REPEATED in str(batch.answers[13].error)
    assert NOT_STARTED in str(batch.answers[14].error)  # of the same task, which had not begun with it
    assert not batch.answers[14].has_acted
    assert batch.answers[12].value == "p12: noted 12"  # of the same task: it is in the journal
    assert isinstance(batch.stop_reason, WorkerLost)
    assert batch.answers[-1].error is batch.stop_reason


@pytest.mark.sampled(0)
def test_an_interrupt_keeps_answers_and_stops_the_workers(own_pool: Executor) -> None:
    def respond(request: Received) -> Sequence[Step]:
        if len(server.requests) == 12:
            os.kill(os.getpid(), signal.SIGINT)
        return shout(request)

    with serve_by(respond) as server:
        batch = Chat("tiny", base_url=server.url).start_map([f"p{n}" for n in range(400)], on=own_pool, chunk=2)
        with pytest.raises(KeyboardInterrupt):
            batch.wait()

    answered = [one for one in batch.answers if not one.error]
    assert len(batch.answers) == 400
    assert 0 < len(answered) < 400
    assert {type(one.error) for one in batch.errors} == {Cancelled}
    assert len(server.requests) < 400


def test_a_stop_cancels_the_running_prompts_of_a_worker(own_pool: Executor) -> None:
    with serve_by(lambda _: [head(), Silence()]) as server:
        batch = Chat("tiny", base_url=server.url).start_map(["a", "b"], on=own_pool, concurrency=1)
        assert server.asked.wait(240)
        batch.cancel()
        batch.wait()
        assert server.left.wait(240)

    assert [type(one.error) for one in batch.answers] == [Cancelled, Cancelled]
    assert batch.answers[0].turn
    assert batch.answers[0].turn.status == "cancelled"
    assert batch.answers[1].turn is None


MAP_INTO = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from nbtool import Chat

if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        chat = Chat("tiny", base_url=sys.argv[1])
        chat.map_into(sys.argv[2], (f"p{n}" for n in range(60)), on=pool, chunk=3, progress=False)
"""


@pytest.mark.sampled(0)
def test_a_map_into_a_file_continues_after_its_process_was_killed(pool: Executor, tmp_path: Path) -> None:
    path, script, is_half = tmp_path / "a.sqlite", tmp_path / "script.py", threading.Event()
    script.write_text(MAP_INTO)

    def respond(request: Received) -> Sequence[Step]:
        if len(server.requests) == 30:
            is_half.set()
        return shout(request)

    with serve_by(respond) as server:
        process = subprocess.Popen([sys.executable, str(script), server.url, str(path)], start_new_session=True)
        assert is_half.wait(240)
        os.killpg(process.pid, signal.SIGKILL)  # with its workers, which a pool leaves behind
        process.wait()
        written = rows_of(path)
        totals = Chat("tiny", base_url=server.url).map_into(path, [f"p{n}" for n in range(60)], on=pool, chunk=3)

    assert totals.answered + totals.answered_before == 60
    assert totals.answered_before >= len(written)  # and what the journal has of prompts that were not written
    assert rows_of(path) == [(n, f"P{n}", None) for n in range(60)]


@pytest.mark.sampled(0)
def test_a_map_into_a_file_repeats_no_prompt_whose_call_may_have_run(
    own_pool: Executor, pool: Executor, tmp_path: Path
) -> None:
    path, notes = tmp_path / "a.sqlite", tmp_path / "notes"
    with serve_by(use("note_and_die", path=str(notes))) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note_and_die])
        with pytest.raises(WorkerLost, match="takes no more tasks"):
            chat.map_into(path, PROMPTS, on=own_pool, concurrency=2, chunk=3)
        lost = {row for row, _, error in rows_of(path) if error}
        second = chat.map_into(path, PROMPTS, on=pool, chunk=3)
        noted = notes.read_text().split()
        remaining = {row for row, _, error in rows_of(path) if error}
        third = chat.map_into(path, PROMPTS, on=pool, chunk=3, repeat_calls=True)

    assert 13 in lost
    assert 13 in remaining
    assert remaining <= lost  # a row whose calls had ended goes on from them
    assert sorted(noted, key=int) == sorted(set(noted), key=int)
    assert second.failed == len(remaining)
    assert third.answered == len(remaining)
    assert rows_of(path)[13] == (13, "p13: noted 13", None)
    assert notes.read_text().split().count("13") == 2


def test_a_turn_that_failed_after_a_call_goes_on_in_a_pool(pool: Executor, tmp_path: Path) -> None:
    path, notes = tmp_path / "a.sqlite", tmp_path / "notes"
    broken = {"p1"}

    def respond(request: Received) -> Sequence[Step]:
        is_broken = result_in(request) and prompt_of(request) in broken
        return [head(), text("half a reply")] if is_broken else use("note", path=str(notes))(request)

    with serve_by(respond) as server:
        chat = Chat("tiny", base_url=server.url, tools=[note])
        first = chat.map_into(path, PROMPTS[:3], on=pool, retries=0)
        broken.clear()
        asked = len(server.requests)
        second = chat.map_into(path, PROMPTS[:3], on=pool)
        last = len(server.requests) - asked

    assert (first.failed, second.failed, second.answered, second.answered_before) == (1, 0, 1, 2)
    assert last == 1  # with the result of the call that ran
    assert sorted(notes.read_text().split()) == ["0", "1", "2"]


class Unreturned(ThreadPoolExecutor):
    """A pool whose answers are lost on their way."""

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
        """Run a task, and raise in place of its answers."""

        def run() -> None:
            function(*arguments, **options)
            raise ConnectionResetError("reset by peer")

        return super().submit(run)


class Redacted:
    """A plugin that redacts what the journal gets: no answer is taken from there."""

    def on_journal(self, context: JournalContext) -> None:
        """Leave the text as it is."""


@pytest.mark.parametrize("plugins", [(), (Redacted(),)])
def test_what_a_task_could_not_return_is_at_home_already(tmp_path: Path, plugins: Sequence[object]) -> None:
    notes = tmp_path / "notes"
    with serve_by(use("note", path=str(notes))) as server, Unreturned(1) as on:
        chat = Chat("tiny", base_url=server.url, tools=[note], plugins=plugins)
        batch = chat.map(PROMPTS[:3], on=on)

    assert batch.values == [f"p{n}: noted {n}" for n in range(3)]
    assert sorted(notes.read_text().split()) == ["0", "1", "2"]


ORPHAN = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
from nbtool import Chat

if __name__ == "__main__":
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        Chat("tiny", base_url=sys.argv[1]).map(["a", "b"], on=pool, concurrency=1, progress=False)
"""


@pytest.mark.sampled(0)
def test_a_worker_whose_pool_was_killed_stops_its_prompts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ORPHAN)
    with serve_by(lambda _: [head(), Silence()]) as server:
        process = subprocess.Popen([sys.executable, str(script), server.url], start_new_session=True)
        assert server.asked.wait(240)
        process.kill()
        process.wait()
        assert server.left.wait(240)
        os.killpg(process.pid, signal.SIGKILL)  # the worker waits for a pool that is gone, as Python leaves it
        requests = len(server.requests)

    assert requests == 1


def test_only_some_chunks_are_under_way(pool: Executor) -> None:
    received: list[list[Answer]] = []
    with serve_by(shout) as server:
        chat = Chat("tiny", base_url=server.url)
        totals = chat.map_into(lambda answers: received.append(list(answers)), iter(PROMPTS), on=pool, chunk=4)

    assert totals.answered == 30
    assert sorted(one.value for answers in received for one in answers) == sorted(UPPER)
    assert len(received) > 1


def test_threads_are_an_engine_too() -> None:
    with serve_by(shout) as server, ThreadPoolExecutor(2) as threads:
        assert Chat("tiny", base_url=server.url).map(PROMPTS, on=threads).values == UPPER
