"""Who may connect to the server: requests of this machine with the token, and of no foreign web page."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from nbtool.secret import Secret

LOOPBACK_NAMES = ("127.0.0.1", "localhost")
"""The names by which clients of this machine address the server."""

NO_TOKEN = "Send `Authorization: Bearer TOKEN` with the token of this server: `nbtool-mcp --token` prints it."
FOREIGN_HOST = "This server is addressed as 127.0.0.1 or localhost, with its port."
FOREIGN_ORIGIN = "Web pages may not use this server."


class AccessCheck:
    """Passes a request on if its host, origin and token are right; anything else never reaches the application.

    The host is checked because a page of another site can point its own name at 127.0.0.1 (DNS rebinding), and the
    origin because a page can send requests without reading the answers.
    """

    def __init__(self, app: ASGIApp, token: Secret, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in LOOPBACK_NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}
        self.refused = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is refused, and pass on any other."""
        if scope["type"] not in ("http", "lifespan"):
            return  # a websocket is never accepted
        if scope["type"] == "http" and (refusal := self._refusal(Headers(scope=scope))):
            self.refused += 1
            status, text = refusal
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None  # RFC 9110, section 11.6.1
            await PlainTextResponse(text, status, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        if not _is_one_of(headers.getlist("host"), self._hosts):
            return 421, FOREIGN_HOST
        origins = headers.getlist("origin")
        if origins and not _is_one_of(origins, self._origins):
            return 403, FOREIGN_ORIGIN
        given = headers.getlist("authorization")
        expected = f"Bearer {self._token.get_secret_value()}"
        if len(given) != 1 or not secrets.compare_digest(given[0].encode(), expected.encode()):
            return 401, NO_TOKEN
        return None


def _is_one_of(values: list[str], allowed: Iterable[str]) -> bool:
    """Return whether a header was sent once, with an allowed value."""
    return len(values) == 1 and values[0].lower() in allowed
