"""Read the body of a response with an error status, within limits.

Which error a status and a body mean is decided in `nbtool/wire/framing/provider_errors.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from nbtool.errors import (
    BadUsage,
    ProviderError,
    WireError,
)
from nbtool.server_url import parse_server_url
from nbtool.wire.framing.provider_errors import MAX_ERROR_BODY, can_retry, error_from_response
from nbtool.wire.transport.response.decompression import read_body

if TYPE_CHECKING:
    import httpx

ERROR_SECONDS = 10.0
"""Time limit for reading the body of an error."""


async def read_error(response: httpx.Response, label: str) -> tuple[WireError, bool]:
    """Return the error of a response, and whether the request may be retried."""
    status = response.status_code
    if status < 400:
        location = _host_of(response.headers.get("location", ""))
        message = f"{label} answered {status}, a redirect to {location}; redirects are not followed."
        return ProviderError(message, fix="Set the server's final address.", status=status), False
    body = await _read_error_body(response, label)
    error = error_from_response(status, response.headers, body, label=label)
    return error, can_retry(error, response.headers)


async def _read_error_body(response: httpx.Response, label: str) -> bytes:
    body = bytearray()
    with suppress(Exception):  # the body is optional: the status is already known
        async with asyncio.timeout(ERROR_SECONDS):
            async for chunk in read_body(response, MAX_ERROR_BODY, label):
                body += chunk
    return bytes(body)


def _host_of(location: str) -> str:
    try:
        return parse_server_url(location, may_have_query=True).netloc if "://" in location else "elsewhere"
    except BadUsage:
        return "elsewhere"
