"""Servers inside this process, at origins that no socket has; used where a process can open none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InProcessReply:
    """A response; its body arrives in parts."""

    status: int
    content_type: str
    body: AsyncIterator[bytes]


Application = Callable[[str, str, Mapping[str, str], bytes], InProcessReply]
"""Answers a method, a path with its query, headers with lower-case names, and a body."""

_applications: dict[tuple[str, int], Application] = {}


def mount(host: str, port: int, application: Application) -> None:
    """Answer the requests to a host and port with an application, as far as nothing else is reached there."""
    _applications[host, port] = application


def unmount(host: str, port: int) -> None:
    """Answer them no longer."""
    _applications.pop((host, port), None)


def find_application(host: str, port: int | None) -> Application | None:
    """Return the application at a host and port."""
    return _applications.get((host, port or 0))
