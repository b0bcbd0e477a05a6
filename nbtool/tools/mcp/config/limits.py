"""The limits of the sessions with an MCP server."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.annotation_kinds import Count, Seconds
from nbtool.argument_check import check_arguments
from nbtool.tools.mcp.stdio.stdio_messages import MAX_MESSAGE

LIST_SECONDS = 10.0
"""Seconds for a server to list its tools before a call."""

CLOSE_SECONDS = 8.0
"""Seconds that a session has to close; the server itself has a second before it is killed."""

INITIAL_DELAY = 0.25
"""Seconds between the first two connection attempts; doubled after each failure."""

MAX_DELAY = 5.0
"""Maximum seconds between two attempts."""


@check_arguments
@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of the sessions with a server; `max_message` is in bytes, the others are in seconds."""

    list_seconds: Seconds = LIST_SECONDS
    close_seconds: Seconds = CLOSE_SECONDS
    initial_delay: Seconds = INITIAL_DELAY
    max_delay: Seconds = MAX_DELAY
    max_message: Count = MAX_MESSAGE


DEFAULT_LIMITS = ServerLimits()
