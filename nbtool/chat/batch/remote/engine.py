"""What an engine does for a batch, and which engine an object of the user's is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from nbtool.chat.batch.remote.dask_engine import DaskEngine
from nbtool.chat.batch.remote.executor_engine import ExecutorEngine
from nbtool.chat.batch.remote.worker_message import WorkerPlace
from nbtool.errors import BadUsage


class WorkerLine(Protocol):
    """The way of messages between a running chunk and home; it is pickled, and used on the worker."""

    def connect(self, run: str, receive: Callable[[Mapping[str, str]], None], lose: Callable[[], None]) -> None:
        """Connect, on the thread of the task; pass on answers, and that home is gone, from any thread.

        Raises:
            BadUsage: home cannot be reached.
        """

    def send(self, texts: Sequence[str]) -> None:
        """Send messages; it may block, and raise anything."""

    def has_home(self) -> bool:
        """Whether somebody waits for the task, as far as this worker knows without asking; it is fast."""

    def close(self) -> None:
        """Disconnect."""


class WorkerEngine(Protocol):
    """Runs tasks on workers. Its methods may block."""

    repeats: bool
    """Whether prompts of a lost worker can be sent again: another worker takes them."""

    def count_slots(self) -> int:
        """Return how many tasks run at a time; 0 if unknown."""

    def share(self, value: Any) -> Any:
        """Return what stands for a value in the arguments of many tasks."""

    def listen(self, receive: Callable[[Sequence[str], WorkerPlace], None]) -> None:
        """Pass the messages of workers to `receive`, on threads, until this is closed."""

    def line(self) -> WorkerLine:
        """Return the line home for tasks of this batch, once it is listened."""

    def answer(self, place: WorkerPlace, answers: Mapping[str, str]) -> None:
        """Send answers to a worker, by the ids under which it asked."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a task."""

    def is_open(self) -> bool:
        """Whether tasks can still return; False once the engine was closed under them."""

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error of a task means that its worker ended, or that the task was dropped."""

    def close(self) -> None:
        """Release what belongs to this batch; the user's engine stays open."""


def find_engine(on: Any) -> WorkerEngine:
    """Return the engine for a Dask client or an executor.

    Raises:
        BadUsage: it is something else.
    """
    classes = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(on).__mro__}
    if ("distributed", "Client") in classes:
        if on.asynchronous:
            raise BadUsage("This Dask client is asynchronous.", fix="Pass Client(…) without asynchronous=True.")
        return DaskEngine(on)
    if ("distributed", "ClientExecutor") in classes:
        raise BadUsage("An executor of Dask runs the tasks of a dead worker again.", fix="Pass the client: on=client.")
    if isinstance(on, Executor):
        return ExecutorEngine(on)
    raise BadUsage(
        f"on={type(on).__name__}: expected a Dask client or a concurrent.futures.Executor.",
        fix="on=distributed.Client(…), or on=ProcessPoolExecutor(…).",
    )
