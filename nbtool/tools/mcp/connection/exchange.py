"""What came of the HTTP requests of one operation with an MCP server, from which its error message is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal


@dataclass(slots=True)
class Exchange:
    """The outcome of the requests of one operation; the last one counts.

    `is_at_end`: the whole body was received; for a stream, the server ended it.
    """

    status: int = 0
    problem: Literal[
        "", "unsent", "refused", "broken", "too_large", "too_complex", "too_many", "compressed", "login"
    ] = ""
    detail: str = ""
    content_type: str = ""
    had_session: bool = False
    is_rpc_error: bool = False
    is_stream: bool = False
    is_at_end: bool = False
    challenge: str = ""
    retry_after: str = ""

    @property
    def is_session_gone(self) -> bool:
        """Whether the server no longer knows the session; then a client must start another one."""
        return self.had_session and self.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


_exchange: ContextVar[Exchange | None] = ContextVar("nbtool_mcp_exchange", default=None)


@contextmanager
def exchange() -> Iterator[Exchange]:
    """Record the outcome of the requests made in the context."""
    current = Exchange()
    token = _exchange.set(current)
    try:
        yield current
    finally:
        _exchange.reset(token)


def current_exchange() -> Exchange:
    """Return where the outcome of the current request is recorded."""
    return _exchange.get() or Exchange()
