"""Work of other threads on the main thread of a real kernel, between two cells."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.magics.kernel.cell_page import CellPage, open_cell_page

SETUP = """
import asyncio, threading, time
from nbtool.magics.kernel.main_thread import RETRY_SECONDS, MainThreadExecutor
executor = MainThreadExecutor(get_ipython())
log, started = [], threading.Event()

def where(word):
    log.append((word, threading.current_thread() is threading.main_thread()))
    return word

def forever():
    started.set()
    while True:
        time.sleep(0.01)
"""
INTERRUPT = """
future = executor.submit(forever)
def stop():
    started.wait(240)
    interrupted.append(executor.interrupt(future))
interrupted = []
thread = threading.Thread(target=stop)
thread.start()
"""


@pytest.fixture
def page() -> Iterator[CellPage]:
    with open_cell_page() as page:
        page.run(SETUP)
        yield page


BUSY = """
future, tried = executor.submit(where, 'work'), asyncio.Event()
loop = get_ipython().kernel.io_loop
loop.add_callback(lambda: loop.call_later(RETRY_SECONDS, tried.set))  # comes after the second try of the work
await tried.wait()
where('cell')
"""


def run_until(page: CellPage, source: str, expected: str) -> None:
    """Run a cell until it prints what is expected: each run lets the kernel do what waits between two cells."""
    deadline = time.monotonic() + 20
    while (printed := page.run(source)).strip() != expected:
        assert time.monotonic() < deadline, printed


def test_work_of_a_thread_runs_on_the_main_thread_and_not_while_a_cell_runs(page: CellPage) -> None:
    page.run(BUSY)

    run_until(page, "print(log, future.done() and future.result())", "[('cell', True), ('work', True)] work")


def test_work_that_was_cancelled_before_it_began_does_not_run(page: CellPage) -> None:
    page.run("future = executor.submit(where, 'work')\nprint(future.cancel())\nlast = executor.submit(where, 'last')")

    run_until(page, "print(log, last.done())", "[('last', True)] True")


def test_work_can_be_interrupted_and_the_kernel_goes_on(page: CellPage) -> None:
    page.run(INTERRUPT)
    run_until(page, "print(interrupted, future.done())", "[True] True")

    assert "The user interrupted it" in page.run("print(repr(future.exception()))")
    assert page.run("print(executor.interrupt(future))").strip() == "False"
    assert page.run("import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)")


@pytest.mark.sampled(0)
def test_an_error_is_that_of_the_work_and_what_it_prints_is_shown(page: CellPage) -> None:
    page.run("future = executor.submit(lambda: 1 / 0)\nother = executor.submit(print, 'from the work')")

    run_until(page, "print(future.done() and repr(future.exception()))", "ZeroDivisionError('division by zero')")


@pytest.mark.sampled(0)
def test_after_it_was_closed_cells_are_no_longer_followed(page: CellPage) -> None:
    page.run("executor.close(); executor.close()")

    assert "MainThreadExecutor" not in page.run("print(get_ipython().events.callbacks)")
