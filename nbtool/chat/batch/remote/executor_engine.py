"""A pool of `concurrent.futures` as the engine of a batch: its workers reach home by a socket of this machine."""

from __future__ import annotations

import multiprocessing
import os
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from itertools import count
from multiprocessing import AuthenticationError
from typing import Any

from pydantic_core import to_json

from nbtool.chat.batch.remote.worker_message import MAX_MESSAGE, WorkerPlace, read_answers
from nbtool.errors import BadUsage

KEY_BYTES = 32
"""Bytes of the key by which a worker and home prove to each other that they belong to one map."""

BACKLOG = 64
"""Workers that may wait to be connected."""

POLL_SECONDS = 0.5
"""Seconds between two looks of a worker at whether its line was closed."""

MAX_FRAME = 4 * MAX_MESSAGE
"""Maximum bytes of one message in UTF-8."""

UNREACHABLE = "This worker cannot reach the process of the map ({reason})."
UNREACHABLE_FIX = "Use a pool of processes of this machine, or a Dask client."


class SocketLine:
    """The line home of a worker of this machine."""

    def __init__(self, address: Any, key: bytes) -> None:
        self._address, self._key = address, key
        self._connection: Any = None
        self._is_closed = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Send where home is: each run connects by itself."""
        return SocketLine, (self._address, self._key)

    def connect(self, _run: str, receive: Callable[[Mapping[str, str]], None], lose: Callable[[], None]) -> None:
        """Connect, and read answers on a thread.

        Raises:
            BadUsage: home is on another machine, or at its end.
        """
        from multiprocessing.connection import Client  # noqa: PLC0415 - only on a worker

        try:
            self._connection = Client(self._address, authkey=self._key)
        except (OSError, EOFError, AuthenticationError) as error:
            raise BadUsage(UNREACHABLE.format(reason=type(error).__name__), fix=UNREACHABLE_FIX) from None
        threading.Thread(target=self._read, args=(receive, lose), name="nbtool-home-answers", daemon=True).start()

    def send(self, texts: Sequence[str]) -> None:
        """Send messages."""
        for text in texts:
            self._connection.send_bytes(text.encode())

    def has_home(self) -> bool:
        """Whether the process of the pool is there."""
        parent = multiprocessing.parent_process()
        return parent is None or (parent.is_alive() and not _has_other_parent(parent.pid))

    def close(self) -> None:
        """Have the thread that reads disconnect."""
        self._is_closed = True

    def _read(self, receive: Callable[[Mapping[str, str]], None], lose: Callable[[], None]) -> None:
        try:
            while not self._is_closed:
                if self._connection.poll(POLL_SECONDS):
                    receive(read_answers(self._connection.recv_bytes(MAX_FRAME)))
        except (EOFError, OSError):
            lose()
        finally:
            self._connection.close()


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
        self._key = secrets.token_bytes(KEY_BYTES)
        self._listener: Any = None
        self._connections: dict[str, tuple[Any, threading.Lock]] = {}
        self._numbers = count(1)
        self._is_closed = False

    def count_slots(self) -> int:
        """Return the size of the pool; a pool of another library does not say it."""
        size = getattr(self._executor, "_max_workers", 0)
        return size if isinstance(size, int) else 0

    def share(self, value: Any) -> Any:
        """Return the value itself: each task gets a copy."""
        return value

    def listen(self, receive: Callable[[Sequence[str], WorkerPlace], None]) -> None:
        """Wait for workers on a thread, and read the messages of each on one of its own."""
        from multiprocessing.connection import Listener  # noqa: PLC0415 - only for a map on workers

        self._listener = Listener(backlog=BACKLOG, authkey=self._key)
        threading.Thread(target=self._accept_all, args=(receive,), name="nbtool-workers", daemon=True).start()

    def line(self) -> SocketLine:
        """Return the line to the socket."""
        return SocketLine(self._listener.address, self._key)

    def answer(self, place: WorkerPlace, answers: Mapping[str, str]) -> None:
        """Send answers to a worker that is connected."""
        if found := self._connections.get(place.worker):
            connection, lock = found
            with lock:
                connection.send_bytes(to_json(answers))

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Submit a task to the pool."""
        return self._executor.submit(function, *arguments)

    def is_open(self) -> bool:
        """Return True: a pool that is shut down or broken ends its futures."""
        return True

    def is_loss(self, error: BaseException) -> bool:
        """Whether the pool is broken or was shut down."""
        return isinstance(error, BrokenExecutor | CancelledError)

    def close(self) -> None:
        """Disconnect all workers: what still runs there starts no more calls."""
        self._is_closed = True
        if self._listener is None:
            return
        with suppress(OSError, EOFError, AuthenticationError):  # nothing else ends the wait for a worker
            self._connect().close()
        self._listener.close()
        for connection, _ in tuple(self._connections.values()):
            _shut_down(connection)

    def _connect(self) -> Any:
        from multiprocessing.connection import Client  # noqa: PLC0415 - only for a map on workers

        return Client(self._listener.address, authkey=self._key)

    def _accept_all(self, receive: Callable[[Sequence[str], WorkerPlace], None]) -> None:
        while not self._is_closed:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, EOFError, ConnectionError):  # another process, or a worker that ended
                continue
            except OSError:  # it is closed
                return
            threading.Thread(
                target=self._read, args=(connection, receive), name="nbtool-worker-messages", daemon=True
            ).start()

    def _read(self, connection: Any, receive: Callable[[Sequence[str], WorkerPlace], None]) -> None:
        place = WorkerPlace(f"{next(self._numbers)}")
        self._connections[place.worker] = (connection, threading.Lock())
        try:
            while not self._is_closed:
                receive([connection.recv_bytes(MAX_FRAME).decode(errors="replace")], place)
        except (EOFError, OSError):  # the worker is at its end, or was lost
            pass
        finally:
            self._connections.pop(place.worker, None)
            connection.close()


def _shut_down(connection: Any) -> None:
    """End a connection that another thread reads, which closes it then."""
    with suppress(OSError):
        if os.name == "posix":
            with socket.socket(fileno=os.dup(connection.fileno())) as of_connection:
                of_connection.shutdown(socket.SHUT_RDWR)
        else:
            connection.close()
