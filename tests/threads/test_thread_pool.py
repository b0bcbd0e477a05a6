from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest

from nbtool.threads import thread_pool
from nbtool.threads.thread_pool import ThreadPool, run_in_worker, run_with_timeout


def name_of_thread() -> int:
    return threading.get_ident()


def test_a_thread_is_used_again() -> None:
    async def several() -> list[int]:
        return [(await run_in_worker(name_of_thread)).value for _ in range(5)]

    assert len(set(asyncio.run(several()))) == 1


def test_a_piece_of_work_that_hangs_holds_up_no_other() -> None:
    release = threading.Event()

    async def both() -> tuple[object, object]:
        hanging = await run_with_timeout(release.wait, 0.05)
        other = await run_with_timeout(lambda: "done", 10)
        release.set()
        return hanging, other and other.value

    assert asyncio.run(both()) == (None, "done")


def test_pieces_at_the_same_time_have_threads_of_their_own() -> None:
    meeting = threading.Barrier(3)

    def meet() -> int:
        meeting.wait(240)
        return threading.get_ident()

    async def together() -> list[int]:
        return [outcome.value for outcome in await asyncio.gather(*(run_in_worker(meet) for _ in range(3)))]

    assert len(set(asyncio.run(together()))) == 3


def test_no_more_threads_wait_than_may() -> None:
    pool = ThreadPool(max_idle=1)
    meeting, actual = threading.Barrier(3), threading.Barrier(4)
    threads: list[threading.Thread] = []

    def meet() -> None:
        threads.append(threading.current_thread())
        meeting.wait(240)

    for _ in range(3):
        pool.submit(meet, lambda _: actual.wait(240))
    actual.wait(240)
    idle = [worker._thread for worker in pool.idle_workers]
    for thread in threads:
        if thread not in idle:
            thread.join(240)

    assert len(idle) == 1
    assert sorted(thread.is_alive() for thread in threads) == [False, False, True]


def test_a_thread_that_waits_in_vain_ends() -> None:
    pool = ThreadPool(idle_seconds=0.01)
    actual, threads = threading.Event(), []

    pool.submit(threading.current_thread, lambda thread: (threads.append(thread), actual.set()))
    actual.wait(240)
    threads[0].join(240)

    assert not threads[0].is_alive()
    assert pool.idle_workers == []


def test_an_idle_thread_keeps_nothing_alive_and_says_that_it_is_idle() -> None:
    import weakref  # noqa: PLC0415 - for this test alone

    class Large:
        pass

    async def make() -> tuple[weakref.ref[Large], threading.Thread]:
        large = Large()
        outcome = await run_in_worker(lambda: (weakref.ref(large), threading.current_thread()))
        return outcome.value

    reference, thread = asyncio.run(make())
    asyncio.run(_one_more())

    assert reference() is None
    assert thread.name == thread_pool.IDLE_NAME


async def _one_more() -> None:
    """Wait until the thread is back on its list: it goes there before it tells."""
    await run_in_worker(lambda: None)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_forked_child_makes_threads_of_its_own() -> None:
    asyncio.run(_one_more())
    read, write = os.pipe()
    child = os.fork()
    if not child:
        done = threading.Event()
        thread_pool.submit_daemon(lambda: b"alive", lambda word: (os.write(write, word), done.set()))
        os._exit(0 if done.wait(240) else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert os.read(read, 5) == b"alive"
