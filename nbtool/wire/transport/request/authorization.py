"""Add key, headers and query to a request as late as possible, so that no log and no frame holds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from nbtool.wire.providers.connection import Connection

if TYPE_CHECKING:
    import httpx

    from nbtool.secret import Secret


@dataclass(frozen=True, slots=True)
class Authorization:
    """What one request carries beside its body: `header` takes the key, after `prefix`."""

    connection: Connection
    header: str
    prefix: str
    key: Secret | None

    def __call__(self, request: httpx.Request) -> httpx.Request:
        """Sign a request of httpx, which calls this just before it sends it."""
        for name, value in self.connection.headers.items():
            request.headers[name] = value.get_secret_value()
        if self.key and self.key.get_secret_value() and self.connection.sends_key(self.header):
            request.headers[self.header] = self.prefix + self.key.get_secret_value()
        if self.connection.query:
            pairs = [
                f"{quote(name, safe='')}={quote(value.get_secret_value(), safe='')}"
                for name, value in self.connection.query.items()
            ]
            own = [request.url.query.decode("ascii")] if request.url.query else []
            request.url = _sealed_url_class()(request.url, query="&".join((*own, *pairs)).encode())
        return request


@cache
def _sealed_url_class() -> type[httpx.URL]:
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    class SealedUrl(httpx.URL):
        """A URL that is shown without its query: httpx logs the URL of every request."""

        def __str__(self) -> str:
            return str(httpx.URL(self, query=b"[hidden]"))

        def __repr__(self) -> str:
            return repr(httpx.URL(self, query=b"[hidden]"))

    return SealedUrl
