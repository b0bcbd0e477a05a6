"""A process that can start no thread and open no socket, as a browser's Python; in an ordinary one."""

from __future__ import annotations

import asyncio
import contextvars
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from nbtool import practice
from nbtool.threads.loop import background_loop
from nbtool.threads.threadless import Suspension, suspension, use_suspension


class OneThreadLoop(asyncio.SelectorEventLoop):
    """As Pyodide's loop, it runs the work of executors at once."""

    def run_in_executor(  # type: ignore[override]  # any argument is passed on
        self,
        executor: Any,  # noqa: ARG002 - the loop itself does the work
        func: Callable[..., Any],
        *args: Any,
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        try:
            future.set_result(contextvars.copy_context().run(func, *args))
        except BaseException as error:  # noqa: BLE001 - any error is the result
            future.set_exception(error)
        return future


@contextmanager
def one_thread() -> Iterator[Suspension]:
    """Run nbtool without threads; a thread or a socket fails."""
    before, loop = suspension(), OneThreadLoop()
    practice.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", _fail)
        patch.setattr(socket.socket, "connect", _fail)
        patch.setattr(socket.socket, "bind", _fail)
        chosen = Suspension(loop, loop.run_until_complete)
        use_suspension(chosen)
        background_loop.cache_clear()
        try:
            yield chosen
        finally:
            practice.stop()
            use_suspension(before)
            background_loop.cache_clear()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _fail(*_: Any) -> None:
    raise RuntimeError("This process can start no thread and open no socket.")
