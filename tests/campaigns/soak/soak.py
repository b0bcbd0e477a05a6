"""Very many `%%chat` cells in one real kernel, one call in ten of which fails, and what they leave behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from time import monotonic

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from tests.campaigns.bounds import up_to

CALLS = 4
"""Calls in a turn."""

SETUP = """
%load_ext nbtool
import asyncio, gc, json, os, threading
from comm import get_comm_manager
from nbtool import tool
from nbtool.threads.loop import background_loop
calls = failures = 0
@tool(run="auto")
def price(ticker: str) -> float:
    "Latest close of a ticker, in USD."
    global calls, failures
    calls += 1
    if calls % 10 == 0:
        failures += 1
        raise ValueError("no price today")
    return 4.2
"""
TURN = '%%chat -m practice:fast --new -o answer\nUse &`price` for "AAA", "BBB", "CCC", "DDD".'
SEEN = """
gc.collect()
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "kb": int(status["VmRSS"].split()[0]),
    "threads": threading.active_count(),
    "files": len(os.listdir("/proc/self/fd")),
    "comms": len(get_comm_manager().comms),
    "tasks": len(asyncio.all_tasks(background_loop()._loop)),
    "calls": calls,
    "failures": failures,
    "status": answer.status,
}))
"""


@dataclass(frozen=True)
class SoakResult:
    """What grew between a turn early on and the last one; `slower` is how much longer the median turn took."""

    turns: int
    calls: int
    failures: int
    kb: int
    threads: int
    files: int
    comms: int
    tasks: int
    slower: float

    @property
    def kb_a_turn(self) -> float:
        """Memory that a turn keeps for ever."""
        return self.kb / self.turns


def soak(turns: int, settled: int) -> SoakResult:
    """Run so many turns, or as many as there is time for; what is there after `settled` of them is the measure."""
    seconds: list[float] = []
    with kernel() as client:
        run(client, SETUP)
        first = None
        for number in up_to(turns + settled):
            began = monotonic()
            run(client, TURN)
            seconds.append(monotonic() - began)
            if number + 1 == settled:
                first = kernel_state(client)
        last = kernel_state(client)
    first = first or last
    return SoakResult(
        turns=len(seconds) - settled,
        calls=last["calls"],
        failures=last["failures"],
        slower=median(seconds[-settled:]) / median(seconds[settled // 2 : settled]),
        **{name: last[name] - first[name] for name in ("kb", "threads", "files", "comms", "tasks")},
    )


@contextmanager
def kernel() -> Iterator[BlockingKernelClient]:
    """Start a kernel, and end it."""
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def run(client: BlockingKernelClient, code: str) -> str:
    """Run a cell and give what it prints; an error of the cell is one of ours."""
    printed: list[str] = []

    def hear(message: dict[str, object]) -> None:
        content = message["content"]
        assert isinstance(content, dict)
        assert message["msg_type"] != "error", content
        printed.append(str(content.get("text", "")))

    client.execute_interactive(code, timeout=120, output_hook=hear)
    return "".join(printed)


def kernel_state(client: BlockingKernelClient) -> dict[str, int]:
    """Look at the kernel."""

    found = json.loads(run(client, SEEN).splitlines()[-1])
    assert found.pop("status") == "completed"
    return dict(found)
