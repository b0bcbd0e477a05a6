"""Which models a server offers: one request, and lists of three shapes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from pydantic_core import from_json

from nbtool.errors import BadReply, TimedOut
from nbtool.wire import ledger
from nbtool.wire.clients import client_for
from nbtool.wire.status import error_from_response
from nbtool.wire.unreached import unreached

if TYPE_CHECKING:
    import httpx

LIST_SECONDS = 15.0
"""How long a list of models may take."""


class Server(Protocol):
    """What has models: where it listens, what errors call it, and how a request to it is signed."""

    @property
    def base_url(self) -> str:
        """The address, with its path."""

    @property
    def host(self) -> str:
        """The host."""

    @property
    def who(self) -> str:
        """Provider and host."""

    @property
    def key_header(self) -> str:
        """The header of the key."""

    def sign(self, request: httpx.Request) -> httpx.Request:
        """Put the key on a request."""


async def offered(server: Server, *, seconds: float = LIST_SECONDS) -> list[str]:
    """Ask a server for the names of its models, sorted.

    Raises:
        nbtool.errors.WireError: it does not answer, or not with a list.
    """
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    url = f"{server.base_url.rstrip('/')}/models"
    headers = {"anthropic-version": "2023-06-01"} if server.key_header == "x-api-key" else {}
    client = client_for(url)
    ledger.note(server.host, 0)
    try:
        async with asyncio.timeout(seconds):
            response = await client.get(url, auth=server.sign, headers=headers)
    except TimeoutError:
        raise TimedOut(f"{server.who} did not list its models within {seconds:g} s.", fix="Try again.") from None
    except httpx.HTTPError as error:
        failure, _ = unreached(error, server.who, url)
        raise failure from None
    if response.status_code != 200:
        raise error_from_response(response.status_code, response.headers, response.content, who=server.who)
    return sorted(model_names(response.content, server.who))


def model_names(body: bytes, who: str) -> list[str]:
    """Read a list of models, in the shape of OpenAI, of Ollama, or bare.

    Raises:
        nbtool.errors.BadReply: it is no list of models.
    """
    try:
        value = from_json(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        value = value.get("data") or value.get("models") or ([] if "data" in value else None)
    if not isinstance(value, list):
        raise BadReply(f"{who} answered with no list of models.", fix="Check the address.")
    names = [item.get("id") or item.get("name") for item in value if isinstance(item, dict)]
    return [name.removeprefix("models/") for name in names if isinstance(name, str) and name]
