"""Request the list of models of a server, in one of three response formats."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import aclosing
from typing import TYPE_CHECKING, Protocol

from nbtool.errors import InvalidReply, ReplyTooLarge, TimedOut, WireError
from nbtool.text import count_of
from nbtool.wire.dialect import find_dialect
from nbtool.wire.framing.json_payloads import parse
from nbtool.wire.framing.provider_errors import MAX_ERROR_BODY, error_from_response
from nbtool.wire.framing.redaction import redact_error
from nbtool.wire.providers.connection import Connection
from nbtool.wire.providers.listed_model import ListedModel, parse_listed_model
from nbtool.wire.providers.model_data import MAX_NAME
from nbtool.wire.transport import traffic
from nbtool.wire.transport.client_pool import client_for
from nbtool.wire.transport.errors.connection_errors import connect_error
from nbtool.wire.transport.request.authorization import Authorization
from nbtool.wire.transport.request.expiring_keys import KeySource
from nbtool.wire.transport.response.decompression import read_start

if TYPE_CHECKING:
    import httpx

    from nbtool.secret import Secret

LIST_SECONDS = 15.0
"""Time limit for a list of models."""

MAX_LIST = 4 * 1024 * 1024
"""Maximum size of a list of models in bytes; real lists of a few hundred entries are below 2 MB, and while one is
parsed nothing else runs."""

MAX_MODELS = 10_000
"""Maximum number of models in a list."""


class ModelServer(Protocol):
    """A server with models: its address, its label in errors, and its authentication."""

    @property
    def base_url(self) -> str:
        """The address, with its path."""

    @property
    def host(self) -> str:
        """The host."""

    @property
    def label(self) -> str:
        """Provider and host."""

    @property
    def dialect(self) -> str:
        """The name of the wire."""

    @property
    def connection(self) -> Connection:
        """How the server is accessed."""

    @property
    def key_source(self) -> KeySource | None:
        """The source of keys that expire."""

    @property
    def secrets(self) -> list[Secret]:
        """All values that no text may contain."""

    async def current_key(self) -> Secret | None:
        """Return the key of the next request."""

    def authorization(self, key: Secret | None) -> Authorization:
        """Return what adds a key, the headers and the query to a request."""


async def fetch_model_list(
    server: ModelServer, *, seconds: float = LIST_SECONDS, max_bytes: int = MAX_LIST
) -> list[str]:
    """Return the sorted names of a server's models. Raises: as `fetch_models`."""
    return [model.name for model in await fetch_models(server, seconds=seconds, max_bytes=max_bytes)]


async def fetch_models(
    server: ModelServer, *, seconds: float = LIST_SECONDS, max_bytes: int = MAX_LIST
) -> list[ListedModel]:
    """Return a server's models, sorted by name.

    Raises:
        nbtool.errors.WireError: it does not answer with a list of models.
    """
    try:
        return await _fetch_models(server, seconds, max_bytes)
    except WireError as error:
        failure = redact_error(error, server.secrets)
    raise failure  # outside of `except`: the first error may contain what the server repeated


async def _fetch_models(server: ModelServer, seconds: float, max_bytes: int) -> list[ListedModel]:
    try:
        async with asyncio.timeout(seconds):
            response, body, is_complete = await _request_list_with_key(server, max_bytes)
    except TimeoutError:
        raise TimedOut(f"{server.label} did not list its models within {seconds:g} s.", fix="Try again.") from None
    if response.status_code != 200:
        body = body[:MAX_ERROR_BODY]
        raise error_from_response(response.status_code, response.headers, body, label=server.label)
    if not is_complete:
        raise ReplyTooLarge(
            f"{server.label} sent a list of models that is larger than {max_bytes >> 20} MiB.", fix=_NAME_MODEL_FIX
        )
    models = await asyncio.to_thread(parse_models, body, server.label)
    return sorted(models, key=lambda model: model.name)


async def _request_list_with_key(server: ModelServer, max_bytes: int) -> tuple[httpx.Response, bytes, bool]:
    """Request the list, and once more with a new key if the key of a command or function has ended early."""
    answer = await _request_list(server, max_bytes)
    if answer[0].status_code != 401 or not server.key_source:
        return answer
    server.key_source.discard(server.key_source.current)
    return await _request_list(server, max_bytes)


async def _request_list(server: ModelServer, max_bytes: int) -> tuple[httpx.Response, bytes, bool]:
    """Return the response, its body, and whether the body is complete."""
    import httpx  # noqa: PLC0415 - the network loads when it is first used

    url = f"{server.base_url.rstrip('/')}/models"
    row = find_dialect(server.dialect)
    client = client_for(url, server.connection)
    authorization = server.authorization(await server.current_key())
    try:
        request = client.build_request("GET", url, headers=dict(row.headers), params=dict(row.list_query) or None)
        with traffic.counting(server.host, 0):
            response = await client.send(request, auth=authorization, stream=True)
        async with aclosing(response):
            return response, *await read_start(response, max_bytes, server.label)
    except (httpx.HTTPError, ssl.SSLError) as error:
        proxy = server.connection.proxy
        failure, _ = connect_error(error, server.label, url, proxy=proxy.get_secret_value() if proxy else "")
        raise failure from None


def parse_models(body: bytes, label: str) -> list[ListedModel]:
    """Parse a list of models in the format of OpenAI or Ollama, or a bare list.

    Raises:
        nbtool.errors.InvalidReply: it is not a list of models.
    """
    try:
        value = parse(body)
    except ValueError:
        value = None
    if isinstance(value, dict):
        value = value.get("data") or value.get("models") or ([] if "data" in value else None)
    if not isinstance(value, list):
        raise InvalidReply(f"{label} did not return a list of models.", fix="Check the address.")
    if len(value) > MAX_MODELS:
        raise ReplyTooLarge(
            f"{label} lists {count_of(len(value), 'model')}; the limit is {MAX_MODELS:,}.", fix=_NAME_MODEL_FIX
        )
    named = [(item, item.get("id") or item.get("name")) for item in value if isinstance(item, dict)]
    return [
        parse_listed_model(item, name.removeprefix("models/"))
        for item, name in named
        if isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()  # Tab offers it
    ]


_NAME_MODEL_FIX = "Specify the model by name."
