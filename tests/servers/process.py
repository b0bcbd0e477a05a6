"""A server of somebody else in a process of its own, on loopback."""

from __future__ import annotations

import queue
import re
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOPBACK = ROOT / "tests" / "no_network"
STOP_SECONDS = 20


@dataclass
class ServerProcess:
    """A process that prints its address once it listens; its output is in a file.

    It gets nothing of this process's environment, and a Python has no network but loopback.
    """

    command: Sequence[str | Path]
    home: Path
    address: re.Pattern[str] = re.compile(r"http://127\.0\.0\.1:\d+")
    environment: Mapping[str, str] = field(default_factory=dict)
    start_seconds: float = 30
    _process: subprocess.Popen[str] = field(init=False, repr=False)
    _reader: threading.Thread = field(init=False, repr=False)

    @property
    def log(self) -> Path:
        """The file with what it prints."""
        return self.home / "server.log"

    def start(self) -> str:
        """Start it, and return the address that it prints."""
        self._process = subprocess.Popen(
            self.command,
            cwd=self.home,
            env={
                "PATH": "/usr/bin:/bin", "HOME": str(self.home), "PYTHONPATH": str(LOOPBACK), "PYTHONUNBUFFERED": "1",
                **self.environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        addresses: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(addresses,), daemon=True)
        self._reader.start()
        try:
            return addresses.get(timeout=self.start_seconds)
        except queue.Empty:
            self.stop()
            raise RuntimeError(
                f"The server did not start within {self.start_seconds} s; it printed:\n{self.log.read_text()}"
            ) from None

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(timeout=STOP_SECONDS)
        self._reader.join()

    def _read(self, addresses: queue.SimpleQueue[str]) -> None:
        assert self._process.stdout
        with self._process.stdout as output, self.log.open("w") as log:
            for line in output:
                log.write(line)
                log.flush()
                if match := self.address.search(line):
                    addresses.put(match[0])


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
