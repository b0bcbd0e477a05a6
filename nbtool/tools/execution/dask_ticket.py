"""Run a call once in an executor of Dask, which by itself runs the work of a lost worker again.

Before the function runs, its worker takes the only ticket of the call from a queue in the scheduler: a second run finds
none. The function that does so travels by value, because the workers may not have nbtool.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any
from uuid import uuid4


class StartedOnLostWorker(Exception):
    """The call had started on a worker that was lost: what it did may be done."""


def is_dask(executor: Executor) -> bool:
    """Whether this is an executor of Dask that runs work again only where a worker is lost."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(executor).__mro__}
    return ("distributed", "ClientExecutor") in kinds and not getattr(executor, "_kwargs", {}).get("retries")


def submit_once(executor: Any, work: Callable[[], Any]) -> Future[Any]:
    """Submit work that starts at most once; `open_result` reads what the future returns."""
    distributed: Any = import_module("distributed")  # the executor is one of it
    name = f"nbtool-call-{uuid4().hex}"
    tickets = distributed.Queue(name, client=executor._client)
    tickets.put(True)
    future: Future[Any] = executor.submit(partial(_by_value(_run_once), name, work))

    def close(_: object) -> None:
        with suppress(Exception):  # the client is closed, and the queue with it
            tickets.close()

    future.add_done_callback(close)
    return future


def open_result(result: tuple[bool, Any]) -> Any:
    """Return the value of a call.

    Raises:
        StartedOnLostWorker: this was a second run.
    """
    has_run, value = result
    if not has_run:
        raise StartedOnLostWorker
    return value


def _by_value(function: Any) -> Callable[..., Any]:
    """Return a function that Dask sends with its code."""
    sent = FunctionType(function.__code__, {"__builtins__": builtins}, function.__name__)
    sent.__module__ = "__main__"
    return sent


def _run_once(name: str, work: Callable[[], Any]) -> tuple[bool, Any]:
    """On a worker: run the work if its ticket is there."""
    from importlib import import_module  # noqa: PLC0415 - of this module only the code of the function is there

    distributed: Any = import_module("distributed")
    tickets = distributed.Queue(name, client=distributed.get_client())
    try:
        if not tickets.qsize():
            return False, None
        tickets.get(timeout=1)
    except TimeoutError:
        return False, None
    finally:
        tickets.close()
    return True, work()
