"""A Dask client as the engine of a batch.

Dask runs the tasks of a dead worker again by itself, whatever their `retries`, and a worker that only lost its
connection may still run the first copy. So before the first call of a prompt starts, its worker takes the only ticket
of this prompt, from a queue in the scheduler: a second run finds the queue empty.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from nbtool.chat.batch.remote.asked_question import WorkerQuestion

CLAIM_SECONDS = 1.0
"""Seconds to wait for the ticket of a prompt, which another worker may take at the same moment."""

RUN_SECONDS = 20.0
"""Seconds in which workers have to answer what they are asked beside their tasks."""

SHARED_BYTES = 64 * 1024
"""A larger value goes to each worker once, instead of with each task."""

STOPPED_STATES = ("cancelled", "released", "forgotten")
"""States of a task of a worker whose result nobody waits for."""


@dataclass(slots=True)
class SchedulerLink:
    """Asks the scheduler of a Dask cluster."""

    name: str
    _client: Any = field(default=None, repr=False)
    _worker: Any = field(default=None, repr=False)
    _task: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the name only: each worker connects by itself."""
        return SchedulerLink, (self.name,)

    def connect(self) -> None:
        """Find the worker, its client and the task."""
        self._worker = _dask().get_worker()
        self._task = str(self._worker.get_current_task())
        self._client = _dask().get_client()

    def is_stopped(self) -> bool:
        """Whether the batch was stopped, or the task was cancelled because its client is gone."""
        return not self.has_home() or bool(_dask().Event(self.name, client=self._client).is_set())

    def has_home(self) -> bool:
        """Whether the task was not cancelled."""
        task = self._worker.state.tasks.get(self._task)
        return task is not None and task.state not in STOPPED_STATES

    def claim(self, index: int) -> bool:
        """Take the ticket of a prompt; return whether it was still there."""
        tickets = _dask().Queue(_ticket_name(self.name, index), client=self._client)
        try:
            return _take_ticket(tickets)
        finally:
            tickets.close()

    async def ask(self, asking: str, text: str) -> str:
        """Put a question into the queue of the batch, and wait for the answer, which a client's `run` brings."""
        answer: Future[str] = Future()
        _answers[asking] = answer
        try:
            await asyncio.to_thread(self._put, asking, text)
            return await asyncio.wrap_future(answer)
        finally:
            del _answers[asking]
            if not answer.done() or answer.cancelled():
                asyncio.get_running_loop().run_in_executor(None, self._withdraw, asking)

    def _withdraw(self, asking: str) -> None:
        with suppress(Exception):  # the worker is closing: its questions are withdrawn at home
            self._put(asking, None)

    def _put(self, asking: str, text: str | None) -> None:
        questions = _dask().Queue(_questions_name(self.name), client=self._client)
        try:
            questions.put([asking, text, self._worker.address, self._task])
        finally:
            questions.close()


class DaskEngine:
    """Runs chunks on a Dask cluster."""

    repeats = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False, retries=0)
        self._name = f"nbtool-map-{uuid4().hex}"
        self._tickets: dict[int, Any] = {}
        self._questions: Any = None
        self._is_stopped = False

    def count_slots(self) -> int:
        """Return the number of the workers' threads; an adaptive cluster may have none yet."""
        return sum(self._client.nthreads().values())

    def share(self, value: Any) -> Any:
        """Return a future of a large value, which Dask can compute again if its worker is lost."""
        is_large = len(getattr(value, "data", b"")) > SHARED_BYTES
        return self._client.submit(_same, value, pure=False) if is_large else value

    def link(self) -> SchedulerLink:
        """Return the link to the scheduler."""
        return SchedulerLink(self._name)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a task to the cluster."""
        future: Future[Any] = self._executor.submit(function, *arguments)
        return future

    def is_open(self) -> bool:
        """Whether the client is; the futures of a closed one never end."""
        return self._client.status not in ("closing", "closed")

    def is_loss(self, error: BaseException) -> bool:
        """Whether workers ended again and again under the task, or it was dropped."""
        return isinstance(error, _dask().KilledWorker | CancelledError)

    def offer_claims(self, indexes: Sequence[int]) -> None:
        """Put one ticket for each prompt into a queue of its own."""
        for index in indexes:
            if index not in self._tickets:
                self._tickets[index] = _dask().Queue(_ticket_name(self._name, index), client=self._client)
                self._tickets[index].put(True)

    def take_claims(self, indexes: Sequence[int]) -> list[int]:
        """Take the tickets that are still there; return their prompts."""
        return [index for index in indexes if index in self._tickets and _take_ticket(self._tickets[index])]

    def withdraw_claims(self, indexes: Sequence[int]) -> None:
        """Remove the queues of prompts."""
        for index in indexes:
            if tickets := self._tickets.pop(index, None):
                with suppress(Exception):  # the scheduler is gone, and the queue with it
                    tickets.close()

    def run_on_workers(
        self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Run a coroutine function on each worker, or on some of them.

        Raises:
            TimeoutError: the workers did not answer in time.
        """
        results: Future[dict[str, Any]] = Future()

        def run() -> None:
            try:
                results.set_result(self._client.run(function, *arguments, workers=workers))
            except BaseException as error:  # noqa: BLE001 - it is raised where the result is waited for
                results.set_exception(error)

        threading.Thread(target=run, name="nbtool-ask", daemon=True).start()
        return results.result(RUN_SECONDS)

    def listen(self, receive: Callable[[WorkerQuestion], object]) -> None:
        """Make a queue for questions, and read it on a thread."""
        self._questions = _dask().Queue(_questions_name(self._name), client=self._client)
        threading.Thread(target=self._read_questions, args=(receive,), name="nbtool-questions", daemon=True).start()

    def answer(self, asked: WorkerQuestion, text: str) -> None:
        """Run a function on the worker that passes the answer on."""
        self._client.run(deliver_answer, asked.asking, text, workers=[asked.place[0]], on_error="ignore")

    def find_lost(self, asked: Sequence[WorkerQuestion]) -> list[WorkerQuestion]:
        """Return the questions of tasks that do not run on that worker any more."""
        running = self._client.processing()
        return [one for one in asked if one.place[1] not in running.get(one.place[0], ())]

    def _read_questions(self, receive: Callable[[WorkerQuestion], object]) -> None:
        with suppress(Exception):  # the client is closed, and the batch with it
            while message := self._questions.get():
                if asked := _read_message(message):
                    receive(asked)

    def stop(self) -> None:
        """Set the event that running chunks read."""
        self._is_stopped = True
        with suppress(Exception):  # the scheduler is gone: its workers end the tasks
            _dask().Event(self._name, client=self._client).set()

    def close(self) -> None:
        """Remove what this batch has left in the scheduler."""
        self.withdraw_claims(list(self._tickets))
        if self._questions:
            with suppress(Exception):  # the scheduler is gone, and the queue with it
                self._questions.put(None)  # the thread that reads ends
                self._questions.close()
        if self._is_stopped:
            with suppress(Exception):  # the scheduler is gone, and the event with it
                _dask().Event(self._name, client=self._client).clear()


_answers: dict[str, Future[str]] = {}
"""On a worker: the open questions of its tasks."""


def deliver_answer(asking: str, text: str) -> None:
    """On a worker: pass an answer to the turn that waits for it, if it still does."""
    if answer := _answers.get(asking):
        with suppress(InvalidStateError):  # it has an answer, or waits no more
            answer.set_result(text)


def _take_ticket(tickets: Any) -> bool:
    """Take the ticket in a queue; return whether it was still there."""
    try:
        if not tickets.qsize():  # the usual case of a second run: the scheduler would log a timeout as an error
            return False
        tickets.get(timeout=CLAIM_SECONDS)
    except TimeoutError:
        return False
    return True


def _read_message(message: Any) -> WorkerQuestion | None:
    """Return a message of a worker; None if it is none."""
    match message:
        case [str(asking), str() | None as text, str(worker), str(task)]:
            return WorkerQuestion(asking, text, (worker, task))
    return None


def _questions_name(batch: str) -> str:
    return f"{batch}-questions"


def _ticket_name(batch: str, index: int) -> str:
    return f"{batch}-{index}"


def _dask() -> Any:
    """Return Dask, which the user's client or the worker has imported."""
    import distributed  # noqa: PLC0415 - never imported before

    return distributed


def _same(value: Any) -> Any:
    return value
