"""The embedded practice model: a server on loopback with the Chat Completions protocol, without a key or a network.

It is not a language model. It finds the tools and variables that a prompt names, calls them, and answers from the
results; equal requests get equal replies. So a notebook can be tried, taught and tested anywhere, with the same wire
code as for a provider. The steps of a request: `server` → `chat_completions.validate_request` →
`request.parse_request` → `plan.make_plan` (with `arguments` and `phrases`) → `chat_completions.response_chunks` →
`server`.

    practice:default    typing speed; thinking before tool calls
    practice:fast       no delay, no thinking
    practice:plain      rejects tools, like small local models
    practice:thinking   thinking before every reply
    practice:image      draws a pattern that depends on the prompt
"""

from __future__ import annotations

import atexit
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nbtool.errors import ConnectionFailed
from nbtool.threads.loop import reset_after_fork
from nbtool.threads.threadless import suspension

if TYPE_CHECKING:
    from nbtool.practice.in_process import InProcessServer
    from nbtool.practice.server import PracticeServer
    from nbtool.secret import Secret

__all__ = ["Practice", "describe", "names", "start", "stop"]


@dataclass(frozen=True, slots=True)
class Practice:
    """The address of the practice model, and its bearer key."""

    base_url: str
    key: Secret


_lock = threading.Lock()
_running: list[PracticeServer | InProcessServer] = []
_inherited: list[PracticeServer | InProcessServer] = []


def _reset_after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _inherited.extend(_running)  # it serves the parent process, and stops with it
    _running.clear()


reset_after_fork(_reset_after_fork)


def start() -> Practice:
    """Start the practice model, or return the running one.

    Raises:
        nbtool.errors.ConnectionFailed: no port on this machine's loopback can be opened.
    """
    from nbtool.secret import Secret

    with _lock:
        if not _running:
            _running.append(_in_process() if suspension() else _listening())
            atexit.register(stop)
        server = _running[0]
    return Practice(f"http://127.0.0.1:{server.port}/v1", Secret(server.key))


def names() -> tuple[str, ...]:
    """Return the names of the practice models."""
    from nbtool.practice.chat_completions import MODELS  # noqa: PLC0415 - needed only by the practice model

    return tuple(MODELS)


def describe() -> str:
    """Return what the practice model understands, a line for each thing."""
    from nbtool.practice.phrases import UNDERSTOOD  # noqa: PLC0415 - needed only by the practice model

    return "\n".join(f"{what}: {example}" for what, example in UNDERSTOOD)


def stop() -> None:
    """Stop the practice model, if it is running."""
    with _lock:
        while _running:
            _running.pop().close()


def _in_process() -> InProcessServer:
    from nbtool.practice.in_process import InProcessServer  # noqa: PLC0415 - only where no socket can be opened

    return InProcessServer()


def _listening() -> PracticeServer:
    from nbtool.practice.server import PracticeServer  # noqa: PLC0415 - needed only by the practice model

    try:
        return PracticeServer()
    except OSError as error:
        raise ConnectionFailed(
            f"The practice model cannot listen on 127.0.0.1 ({error.strerror or error}).",
            fix="It takes any free port; where none may be opened, name another model: `-m provider:model`.",
        ) from None
