"""A Dask client as the engine of a batch.

Dask runs the tasks of a dead worker again by itself, whatever their `retries`, and a worker that only lost its
connection may still run the first copy. So each run of a task asks home which prompts it may send, and before a call
starts; home lets only the latest run go on. What workers say goes through a queue in the scheduler, because home may
be where no worker can connect to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from threading import Thread
from typing import Any
from uuid import uuid4

from nbtool.chat.batch.remote.worker_message import WorkerPlace

SHARED_BYTES = 64 * 1024
"""A larger value goes to each worker once, instead of with each task."""

STOPPED_STATES = ("cancelled", "released", "forgotten")
"""States of a task of a worker whose result nobody waits for."""

Receive = Callable[[Mapping[str, str]], None]


class SchedulerLine:
    """The line home by a queue in the scheduler; answers come by a client's `run`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: Any = None
        self._worker: Any = None
        self._task = self._run = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the name only: each run connects by itself."""
        return SchedulerLine, (self._name,)

    def connect(self, run: str, receive: Receive, _lose: Callable[[], None]) -> None:
        """Find the worker, its client and the task."""
        self._worker = _dask().get_worker()
        self._task, self._run = str(self._worker.get_current_task()), run
        self._queue = _dask().Queue(self._name, client=_dask().get_client())
        _receivers[run] = receive

    def send(self, texts: Sequence[str]) -> None:
        """Put messages into the queue."""
        self._queue.put([self._run, self._worker.address, list(texts)])

    def has_home(self) -> bool:
        """Whether the task was not cancelled: its client is there."""
        task = self._worker.state.tasks.get(self._task)
        return task is not None and task.state not in STOPPED_STATES

    def close(self) -> None:
        """Leave the queue."""
        _receivers.pop(self._run, None)
        with suppress(Exception):  # the scheduler is gone, and the queue with it
            self._queue.close()


_receivers: dict[str, Receive] = {}
"""On a worker: what takes the answers, by run."""


def deliver_answers(run: str, answers: Mapping[str, str]) -> None:
    """On a worker: pass answers on to a run, if it is still there."""
    if receive := _receivers.get(run):
        receive(answers)


class DaskEngine:
    """Runs chunks on a Dask cluster."""

    repeats = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False, retries=0)
        self._name = f"nbtool-map-{uuid4().hex}"
        self._queue: Any = None

    def count_slots(self) -> int:
        """Return the number of the workers' threads; an adaptive cluster may have none yet."""
        return sum(self._client.nthreads().values())

    def share(self, value: Any) -> Any:
        """Return a future of a large value, which Dask can compute again if its worker is lost."""
        is_large = len(getattr(value, "data", b"")) > SHARED_BYTES
        return self._client.submit(_same, value, pure=False) if is_large else value

    def listen(self, receive: Callable[[Sequence[str], WorkerPlace], None]) -> None:
        """Make a queue for messages, and read it on a thread."""
        self._queue = _dask().Queue(self._name, client=self._client)
        Thread(target=self._read, args=(receive,), name="nbtool-worker-messages", daemon=True).start()

    def line(self) -> SchedulerLine:
        """Return the line to the queue."""
        return SchedulerLine(self._name)

    def answer(self, place: WorkerPlace, answers: Mapping[str, str]) -> None:
        """Run a function on the worker that passes the answers on."""
        self._client.run(deliver_answers, place.run, dict(answers), workers=[place.worker], on_error="ignore")

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

    def close(self) -> None:
        """Remove the queue from the scheduler."""
        if self._queue:
            with suppress(Exception):  # the scheduler is gone, and the queue with it
                self._queue.put(None)  # the thread that reads ends
                self._queue.close()

    def _read(self, receive: Callable[[Sequence[str], WorkerPlace], None]) -> None:
        with suppress(Exception):  # the client is closed, and the batch with it
            while (message := self._queue.get()) is not None:
                for item in (message, *self._queue.get(batch=True)):
                    if item is None:
                        return
                    if found := read_delivery(item):
                        receive(*found)


def read_delivery(message: Any) -> tuple[Sequence[str], WorkerPlace] | None:
    """Return the messages of a run, and where it is; None if it is no such delivery."""
    match message:
        case [str(run), str(worker), [*texts]] if all(isinstance(text, str) for text in texts):
            return texts, WorkerPlace(worker, run)
    return None


def _dask() -> Any:
    """Return Dask, which the user's client or the worker has imported."""
    import distributed  # noqa: PLC0415 - never imported before

    return distributed


def _same(value: Any) -> Any:
    return value
