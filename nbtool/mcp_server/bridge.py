"""The command `nbtool-mcp`: a server on standard input and output that passes everything on to the served notebook.

Clients that start their servers as processes need no token in their configuration: this command reads it from a file
that only the user can read.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nbtool.command_output import closable_output
from nbtool.errors import NbtoolError
from nbtool.mcp_server.address import ServerAddress, find_server

CANCEL_SECONDS = 1.5
"""Seconds for the notebook to learn that its client has ended; clients end the process after 2."""

LAST_ID = "nbtool-mcp-end"
"""The id of the last request, whose answer says that the ones before it have arrived."""

NOT_SERVED = "The notebook no longer serves: run `%chat serve` again, then reconnect."

FLUSH_SECONDS = 0.2
"""Seconds for the last answers to be written before the process ends."""

MISSING = "nbtool-mcp needs the package mcp: `pip install mcp`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="nbtool-mcp", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pid", type=int, help="the kernel's process; without it, the notebook that was served last")
    parser.add_argument("--token", action="store_true", help="print the address and the token, and exit")
    with closable_output():  # of --help
        flags = parser.parse_args(arguments)
    try:
        address = find_server(flags.pid)
    except NbtoolError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the output of a command
        return 1
    if flags.token:
        with closable_output():
            print(address.url)  # noqa: T201 - the requested output
            print(address.token.get_secret_value())  # noqa: T201 - the requested output
        return 0
    try:
        import mcp  # noqa: F401, PLC0415 - the extra is imported when used
    except ImportError:
        print(MISSING, file=sys.stderr)  # noqa: T201 - the output of a command
        return 1
    logging.getLogger("mcp").addHandler(logging.NullHandler())  # a server that ends is told in one line
    asyncio.run(forward(address))
    return 0


class OpenRequests:
    """The requests of the client that the server has not answered yet."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self.has_ended = False
        self._is_done = asyncio.Event()

    def note(self, message: Any) -> None:
        """Process a message of either side."""
        from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse  # noqa: PLC0415 - a part of the extra

        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCResponse | JSONRPCError):
            self._ids.discard(message.id)
            if self.has_ended and message.id == LAST_ID:
                self._is_done.set()

    async def cancel(self, server: Any) -> None:
        """Cancel them in the notebook, for a client that has ended: its questions are withdrawn."""
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - a part of the extra
        from mcp_types import JSONRPCNotification, JSONRPCRequest  # noqa: PLC0415 - the same

        self.has_ended = True
        for request in tuple(self._ids):
            parameters = {"requestId": request, "reason": "The client has ended."}
            notification = JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=parameters)
            await server.send(SessionMessage(notification))
        await server.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=LAST_ID, method="ping")))
        await self._is_done.wait()  # the notebook has received what was sent before

    async def fail(self, client: Any) -> None:
        """Answer them that the notebook no longer serves."""
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - a part of the extra
        from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError  # noqa: PLC0415 - the same

        for request in tuple(self._ids):
            error = ErrorData(code=CONNECTION_CLOSED, message=NOT_SERVED)
            await client.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error)))


async def forward(address: ServerAddress) -> None:
    """Pass messages on in both directions until one side closes; calls of a client that has ended are cancelled.

    Where it is the notebook that has ended, the process ends here.
    """
    import httpx2  # noqa: PLC0415 - a part of the extra
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the same
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - the same

    requests = OpenRequests()
    headers = {"Authorization": f"Bearer {address.token.get_secret_value()}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=None), trust_env=False) as http_client,
        stdio_server() as client,
    ):
        try:
            async with streamable_http_client(address.url, http_client=http_client) as server:
                await _forward_between(client, server, requests)
        except* httpx2.TransportError:
            pass  # the server has ended: what follows says so
        if not requests.has_ended:
            await _end_without_server(requests, client[1])


async def _forward_between(client: Any, server: Any, requests: OpenRequests) -> None:
    """Pass messages on until one side closes; each side is a stream to receive from, and one to send to."""
    (from_client, to_client), (from_server, to_server) = client, server

    async def pump(source: Any, target: Any) -> None:
        async for message in source:
            if not isinstance(message, Exception):
                requests.note(message.message)
                if not requests.has_ended:
                    await target.send(message)

    reading = asyncio.create_task(pump(from_client, to_server))
    pumps = {reading, asyncio.create_task(pump(from_server, to_client))}
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        if reading.done() and not reading.exception():
            with suppress(Exception):  # the server ended too
                async with asyncio.timeout(CANCEL_SECONDS):
                    await requests.cancel(to_server)
            await to_client.aclose()  # its writer would wait for more
    finally:
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


async def _end_without_server(requests: OpenRequests, client: Any) -> None:
    """End the process with a line, after an answer to each open request."""
    await requests.fail(client)
    await asyncio.sleep(FLUSH_SECONDS)
    print(NOT_SERVED, file=sys.stderr, flush=True)  # noqa: T201 - the output of a command
    os._exit(1)  # a thread reads standard input, which only the client could end


if __name__ == "__main__":
    sys.exit(main())
