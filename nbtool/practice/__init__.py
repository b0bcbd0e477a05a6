"""The embedded practice model: a real server on loopback that speaks the real protocol, without a key or a network.

It is no language model. It reads which tools and variables a prompt names, calls them, and answers from what came
back; the same request always gets the same reply. So a notebook can be tried, taught and tested anywhere, through
the very wire that reaches a provider. The way of a request: `server` → `protocol.validate_request` →
`request.parse_request` → `planner.plan` (with `arguments` and `words`) → `protocol.response_chunks` → `server`.

    practice:default    a human pace; thinks aloud before it calls tools
    practice:fast       no delay, no thinking
    practice:plain      refuses tools, as small local models do
    practice:thinking   thinks aloud before everything it says
    practice:image      draws a pattern that depends on the prompt
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtool.errors import ConnectionFailed
from nbtool.loop import reset_after_fork

if TYPE_CHECKING:
    from pydantic import SecretStr

    from nbtool.practice.server import PracticeServer

__all__ = ["Practice", "start", "stop"]


@dataclass(frozen=True, slots=True)
class Practice:
    """Where the practice model listens, and the bearer key that it asks for."""

    base_url: str
    key: SecretStr


_lock = threading.Lock()
_running: list[PracticeServer] = []
_inherited: list[PracticeServer] = []


def _reset_after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_running)  # it serves the other process, and ends with it
    _running.clear()


reset_after_fork(_reset_after_fork)


def start() -> Practice:
    """Start the practice model, or give the one that runs already.

    Raises:
        nbtool.errors.ConnectionFailed: nothing may listen on this machine's loopback.
    """
    from pydantic import SecretStr  # noqa: PLC0415 - only who practises pays for it

    from nbtool.practice.server import PracticeServer  # noqa: PLC0415 - the same

    with _lock:
        if not _running:
            _running.append(_listening(PracticeServer))
            atexit.register(stop)
        server = _running[0]
    return Practice(f"http://127.0.0.1:{server.port}/v1", SecretStr(server.key))


def stop() -> None:
    """Stop the practice model, if it runs."""
    with _lock:
        while _running:
            _running.pop().close()


def _listening(server: Callable[[], PracticeServer]) -> PracticeServer:
    try:
        return server()
    except OSError as error:
        raise ConnectionFailed(
            f"The practice model cannot listen on 127.0.0.1 ({error.strerror or error}).",
            fix="It takes any free port; where none may be opened, name another model: `-m provider:model`.",
        ) from None
