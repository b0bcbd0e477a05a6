"""What an engine does for a batch, and which engine an object of the user's is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from nbtool.chat.batch.remote.asked_question import WorkerQuestion
from nbtool.chat.batch.remote.dask_engine import DaskEngine
from nbtool.chat.batch.remote.executor_engine import ExecutorEngine
from nbtool.errors import BadUsage


class WorkerLink(Protocol):
    """What a running chunk learns about its batch; it is pickled, and used on the worker."""

    def connect(self) -> None:
        """Prepare, on the thread of the task."""

    def is_stopped(self) -> bool:
        """Whether the batch was stopped, or nobody waits for the task any more."""

    def has_home(self) -> bool:
        """Whether somebody waits for the task, as far as this worker knows without asking; it is fast."""

    def claim(self, index: int) -> bool:
        """Whether the calls of a prompt may start here: False if they may have started on another worker."""

    async def ask(self, asking: str, text: str) -> str:
        """Send a question home under an id, and return the answer; it is withdrawn if this is cancelled."""


class WorkerEngine(Protocol):
    """Runs tasks on workers. Its methods may block."""

    repeats: bool
    """Whether prompts of a lost worker can be sent again, because no call of a prompt starts twice."""

    def count_slots(self) -> int:
        """Return how many tasks run at a time; 0 if unknown."""

    def share(self, value: Any) -> Any:
        """Return what stands for a value in the arguments of many tasks."""

    def link(self) -> WorkerLink:
        """Return the link of this batch for its tasks."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a task."""

    def is_open(self) -> bool:
        """Whether tasks can still return; False once the engine was closed under them."""

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error of a task means that its worker ended, or that the task was dropped."""

    def offer_claims(self, indexes: Sequence[int]) -> None:
        """Let the calls of each of these prompts start on one worker; what was offered before stays as it is."""

    def take_claims(self, indexes: Sequence[int]) -> list[int]:
        """Take the claims of prompts of which no call has started; none starts then. Return these prompts."""

    def withdraw_claims(self, indexes: Sequence[int]) -> None:
        """Forget the claims of prompts that have an answer."""

    def listen(self, receive: Callable[[WorkerQuestion], object]) -> None:
        """Pass what workers ask to `receive`, on a thread, until this is closed."""

    def answer(self, asked: WorkerQuestion, text: str) -> None:
        """Send an answer to the worker that asked."""

    def find_lost(self, asked: Sequence[WorkerQuestion]) -> list[WorkerQuestion]:
        """Return those of these questions that nobody waits for any more."""

    def run_on_workers(
        self, function: Callable[..., Any], *arguments: Any, workers: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Run a coroutine function on each worker, or on some of them, beside its tasks; return the results by worker.

        An engine that cannot returns none; otherwise an error of one worker is raised, also that it took too long.
        """

    def stop(self) -> None:
        """Ask the running tasks to stop."""

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
