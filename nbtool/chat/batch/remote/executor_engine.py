"""A pool of `concurrent.futures` as the engine of a batch: it never runs a task twice, and needs no claims."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtool.chat.batch.remote.asked_question import WorkerQuestion
from nbtool.errors import BadUsage
from nbtool.files import replace_file

STOP_FILE = "stop"
"""Name of the file that stops the tasks of a batch on this machine."""

QUESTION, ANSWER = ".question", ".answer"
"""The ends of the names of files with a question and its answer, in a folder of this account alone."""

POLL_SECONDS = 0.05
"""Seconds between two looks at the folder."""

UNREACHABLE = "This worker cannot reach the notebook, so nobody can be asked."


def find_questions(folder: Path) -> set[str]:
    """Return the ids of the questions in a folder; none once the map has ended and removed it."""
    with suppress(FileNotFoundError):
        return {path.stem for path in folder.glob(f"*{QUESTION}")}
    return set()


@dataclass(frozen=True, slots=True)
class FileLink:
    """Reads from a file of this machine whether the batch was stopped; on another machine it never is."""

    path: str

    def connect(self) -> None:
        """Do nothing."""

    def is_stopped(self) -> bool:
        """Whether the file is there, or the process of the pool is gone."""
        return Path(self.path).exists() or not self.has_home()

    def has_home(self) -> bool:
        """Whether the process of the pool is there."""
        parent = multiprocessing.parent_process()
        return parent is None or (parent.is_alive() and not _has_other_parent(parent.pid))

    def claim(self, _: int) -> bool:
        """Return True: no prompt is sent twice."""
        return True

    async def ask(self, asking: str, text: str) -> str:
        """Write a question beside the stop file, and wait for the file with its answer.

        Raises:
            BadUsage: the folder is not there: this is another machine, or the batch is at its end.
        """
        question, answer = (Path(self.path).parent / f"{asking}{kind}" for kind in (QUESTION, ANSWER))
        try:
            replace_file(question, text.encode())
            while not answer.exists():
                await asyncio.sleep(POLL_SECONDS)
                if not question.exists():
                    raise BadUsage(UNREACHABLE)
            return answer.read_text(encoding="utf-8")
        except OSError as error:
            raise BadUsage(f"{UNREACHABLE} ({type(error).__name__})") from None
        finally:
            with suppress(OSError):  # the batch is at its end
                question.unlink(missing_ok=True)  # which withdraws it
                answer.unlink(missing_ok=True)


def _has_other_parent(parent: int | None) -> bool:
    """Whether the system gave this process another parent: forked ones keep open what tells them of their parent."""
    server = getattr(multiprocessing.context, "ForkServerProcess", None)
    is_of_server = server is not None and isinstance(multiprocessing.current_process(), server)
    return os.name == "posix" and not is_of_server and os.getppid() != parent


class ExecutorEngine:
    """Runs chunks in a pool. A pool that lost a process is broken: nothing is sent again."""

    repeats = False

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._is_closed = threading.Event()
        self._folder = Path(tempfile.mkdtemp(prefix="nbtool-map-"))

    def count_slots(self) -> int:
        """Return the size of the pool; a pool of another library does not say it."""
        count = getattr(self._executor, "_max_workers", 0)
        return count if isinstance(count, int) else 0

    def share(self, value: Any) -> Any:
        """Return the value itself: each task gets a copy."""
        return value

    def link(self) -> FileLink:
        """Return the link that reads the stop file."""
        return FileLink(str(self._folder / STOP_FILE))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a task to the pool."""
        return self._executor.submit(function, *arguments)

    def is_open(self) -> bool:
        """Return True: a pool that is shut down or broken ends its futures."""
        return True

    def is_loss(self, error: BaseException) -> bool:
        """Whether the pool is broken or was shut down."""
        return isinstance(error, BrokenExecutor | CancelledError)

    def offer_claims(self, _: Sequence[int]) -> None:
        """Do nothing."""

    def take_claims(self, _: Sequence[int]) -> list[int]:
        """Return none: it is not known what started."""
        return []

    def withdraw_claims(self, _: Sequence[int]) -> None:
        """Do nothing."""

    def run_on_workers(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return none: a pool does not say which process runs a task."""
        return {}

    def listen(self, receive: Callable[[WorkerQuestion], object]) -> None:
        """Look for files with questions, on a thread."""
        threading.Thread(target=self._read_questions, args=(receive,), name="nbtool-questions", daemon=True).start()

    def answer(self, asked: WorkerQuestion, text: str) -> None:
        """Write the file with the answer."""
        replace_file(self._folder / f"{asked.asking}{ANSWER}", text.encode())

    def find_lost(self, _: Sequence[WorkerQuestion]) -> list[WorkerQuestion]:
        """Return none: a pool that lost a process is broken, and its map ends."""
        return []

    def _read_questions(self, receive: Callable[[WorkerQuestion], object]) -> None:
        known: set[str] = set()
        while not self._is_closed.wait(POLL_SECONDS):
            found = find_questions(self._folder)
            for asking in found - known:
                with suppress(OSError, UnicodeError):  # withdrawn meanwhile
                    receive(WorkerQuestion(asking, (self._folder / f"{asking}{QUESTION}").read_text(encoding="utf-8")))
            for asking in known - found:
                receive(WorkerQuestion(asking))
            known = found

    def stop(self) -> None:
        """Write the stop file."""
        if self._folder.is_dir():
            (self._folder / STOP_FILE).touch()

    def close(self) -> None:
        """Remove the folder."""
        self._is_closed.set()
        shutil.rmtree(self._folder, ignore_errors=True)
