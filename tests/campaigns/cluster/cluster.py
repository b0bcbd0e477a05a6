"""A Dask cluster whose scheduler and workers are processes of their own, which can be killed."""

from __future__ import annotations

import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

START_SECONDS = 120.0
STOP_SECONDS = 30.0
WORKERS = 2


@dataclass
class KillableCluster:
    """A scheduler, and two workers of one thread, each with a nanny that starts it again."""

    folder: Path
    environment: Mapping[str, str]
    scheduler: subprocess.Popen[bytes] | None = None
    nannies: list[subprocess.Popen[bytes]] = field(default_factory=list)
    client: Any = None

    def start(self) -> Any:
        """Start the processes, wait for the workers, and return a client."""
        from distributed import Client

        log = (self.folder / "cluster.log").open("ab")
        where = self.folder / f"scheduler-{time.monotonic_ns()}.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--no-jupyter")
        self.scheduler = self._start(log, "scheduler", *options, "--scheduler-file", str(where))
        options = (
            "--nworkers",
            "1",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--memory-limit",
            "0",
            "--death-timeout",
            "60",
        )
        folder = ("--local-directory", str(self.folder), "--host", "127.0.0.1")
        self.nannies = [
            self._start(log, "worker", "--scheduler-file", str(where), *options, *folder) for _ in range(WORKERS)
        ]
        log.close()
        wait_until(where.exists)
        self.client = Client(scheduler_file=str(where), set_as_default=False)
        self.client.wait_for_workers(WORKERS, timeout=START_SECONDS)
        return self.client

    @property
    def is_dead(self) -> bool:
        """Whether the scheduler was killed."""
        return self.scheduler is not None and self.scheduler.poll() is not None

    def kill_worker(self, choose: random.Random) -> bool:
        """Kill one of the worker processes; return whether there was one: a nanny may be starting its own."""
        workers = [found for nanny in self.nannies if (found := find_worker(nanny.pid))]
        if not workers or self.is_dead:
            return False
        choose.choice(workers).kill()
        return True

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        assert self.scheduler
        self.scheduler.kill()
        self.scheduler.wait()

    def stop(self) -> None:
        """End everything that is left."""
        if self.client:
            with suppress(Exception):  # the scheduler may be gone
                self.client.close(timeout=5)
        for process in (*self.nannies, self.scheduler):
            if process:
                process.terminate()
        for process in (*self.nannies, self.scheduler):
            if process:
                stop_process(process)
        self.client = None

    def _start(self, log: IO[bytes], *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *arguments]
        # a group of its own: whatever a nanny leaves behind is killed with it
        return subprocess.Popen(command, stdout=log, stderr=log, env=dict(self.environment), start_new_session=True)


def find_worker(nanny: int) -> psutil.Process | None:
    """Return the worker process of a nanny."""
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(nanny).children():
            if "spawn_main" in " ".join(child.cmdline()):  # the other child tracks resources
                return child
    return None


def stop_process(process: subprocess.Popen[bytes]) -> None:
    """End a process that was asked to, and its group."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def start_provider(environment: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], str]:
    """Start the provider; return it and its address."""
    command = [sys.executable, "-m", "tests.campaigns.cluster.provider"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(environment), start_new_session=True)
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], START_SECONDS)
    found = re.fullmatch(rb"PORT (\d+)\n", process.stdout.readline()) if ready else None
    assert found, "the provider did not start"
    return process, f"http://127.0.0.1:{int(found[1])}/v1"


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    ends = time.monotonic() + START_SECONDS
    while not is_true():
        assert time.monotonic() < ends, "the cluster did not start"
        time.sleep(0.05)
