"""On a worker: the channel of one chunk to the process of its map, which decides, and writes the journal."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from copy import copy
from queue import SimpleQueue
from typing import Any

from pydantic_core import from_json

from nbtool.chain.hooks import RequestContext
from nbtool.chat.batch.remote.engine import WorkerLine
from nbtool.chat.batch.remote.worker_message import CLOSED, STOP, MessageKind, WorkerMessage, pack_message
from nbtool.errors import Cancelled
from nbtool.ids import new_id

LOOK_SECONDS = 0.5
"""Seconds between two looks at whether the process of the map is there."""

NO_HOME = "The process of this map is gone, or has given this prompt up: no more calls start."


class HomeLink:
    """Sends what the turns of one run of a chunk do, in order, and asks what they may do. Without home nothing may."""

    def __init__(self, line: WorkerLine) -> None:
        self.run = new_id("run")
        self._line = copy(line)  # a task that runs twice in one process has two
        self._outbox: SimpleQueue[str | None] = SimpleQueue()
        self._waiting: dict[str, Future[str]] = {}
        self._lock = threading.Lock()
        self._is_gone = False
        self._is_stopped = False
        self._sender = threading.Thread(target=self._send_all, name="nbtool-home", daemon=True)

    def open(self) -> None:
        """Connect, on the thread of the task.

        Raises:
            nbtool.errors.BadUsage: the process of the map cannot be reached.
        """
        self._line.connect(self.run, self._receive, self._lose)
        self._sender.start()

    def close(self) -> None:
        """Wait until everything was received, and disconnect."""
        with suppress(Cancelled):
            self.wait_for(self.ask("done"))
        self._outbox.put(None)
        self._sender.join(LOOK_SECONDS)
        self._line.close()

    def begin(self, chunk_id: str) -> set[str]:
        """Return the keys of the prompts of a chunk that this run may send.

        Raises:
            Cancelled: the process of the map is gone.
        """
        return set(from_json(self.wait_for(self.ask("begin", text=chunk_id))))

    def tell(self, kind: MessageKind, **fields: Any) -> None:
        """Send a message, soon."""
        self._outbox.put(pack_message(WorkerMessage(kind, self.run, **fields)))

    def ask(self, kind: MessageKind, asking: str = "", **fields: Any) -> Future[str]:
        """Send a message and return the future of its answer, which fails with `Cancelled` once home is gone."""
        answer: Future[str] = Future()
        asking = asking or new_id("ask")
        text = pack_message(WorkerMessage(kind, self.run, asking, **fields))
        with self._lock:
            if self._is_gone:
                answer.set_exception(Cancelled(NO_HOME))
                return answer
            self._waiting[asking] = answer
        answer.add_done_callback(lambda _: self._forget(asking))
        self._outbox.put(text)
        return answer

    def wait_for(self, answer: Future[str]) -> str:
        """Wait for an answer; raises `Cancelled` once home is gone."""
        while True:
            with suppress(TimeoutError):
                return answer.result(LOOK_SECONDS)
            self.is_stopped()

    def is_stopped(self) -> bool:
        """Whether the map was stopped, or its process is gone."""
        return self._is_stopped or not self.has_home()

    def has_home(self) -> bool:
        """Whether somebody waits for the answers; nothing more is asked and sent otherwise."""
        try:
            is_there = not self._is_gone and self._line.has_home()
        except Exception:  # noqa: BLE001 - the libraries of engines raise anything once their scheduler is gone
            is_there = False
        if not is_there:
            self._lose()
        return is_there

    def _forget(self, asking: str) -> None:
        with self._lock:
            self._waiting.pop(asking, None)

    def _receive(self, answers: Mapping[str, str]) -> None:
        self._is_stopped = self._is_stopped or STOP in answers
        for asking, text in answers.items():
            with self._lock:
                answer = self._waiting.get(asking)
            if answer:
                with suppress(InvalidStateError):  # it waits no more
                    answer.set_result(text)
        if answers.get(STOP) == CLOSED:
            self._lose()

    def _lose(self) -> None:
        """Fail everything that waits for home, now and later."""
        with self._lock:
            self._is_gone, waiting = True, list(self._waiting.values())
        for answer in waiting:
            with suppress(InvalidStateError):
                answer.set_exception(Cancelled(NO_HOME))

    def _send_all(self) -> None:
        """Send what is in the outbox, what gathers meanwhile together."""
        while (text := self._outbox.get()) is not None:
            texts, is_last = [text], False
            while not self._outbox.empty() and not is_last:
                further = self._outbox.get()
                is_last = further is None
                texts += [] if further is None else [further]
            try:
                self._line.send(texts)
            except Exception:  # noqa: BLE001 - an engine, or the system, may raise anything
                self._lose()
            if is_last:
                return


class HomeCheck:
    """A plugin: no call starts once the process of its map is gone, because the next map could not know of it."""

    def __init__(self, link: HomeLink) -> None:
        self._link = link
        self.is_refused = False

    def may_start(self, _: str) -> bool:
        """Whether the process is there; what it says of this call is asked with its start."""
        self.is_refused = self.is_refused or not self._link.has_home()
        return not self.is_refused

    def on_before_request(self, _: RequestContext) -> None:
        """End the turn after a call that was refused: the model would answer without its result.

        Raises:
            Cancelled: one was.
        """
        if self.is_refused:
            raise Cancelled(NO_HOME)
