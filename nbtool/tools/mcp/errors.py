"""The error that ends a session, for whoever starts the next."""

from __future__ import annotations

from nbtool.errors import McpFailed


class SessionLost(McpFailed):
    """The session is of no more use: another one has to be started before the next question."""
