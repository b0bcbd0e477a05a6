"""The command `nbtool-mcp`: a server on standard input and output that passes everything on to the served notebook.

Clients that start their servers as processes need no token in their configuration: this command reads it from a file
that only the user can read.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from nbtool.errors import NbtoolError
from nbtool.mcp_server.address import ServerAddress, find_server

MISSING = "nbtool-mcp needs the package mcp: `pip install mcp`."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="nbtool-mcp", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pid", type=int, help="the kernel's process; without it, the notebook that was served last")
    parser.add_argument("--token", action="store_true", help="print the address and the token, and exit")
    flags = parser.parse_args(arguments)
    try:
        address = find_server(flags.pid)
    except NbtoolError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the output of a command
        return 1
    if flags.token:
        print(address.url)  # noqa: T201 - the requested output
        print(address.token.get_secret_value())  # noqa: T201 - the requested output
        return 0
    try:
        import mcp  # noqa: F401, PLC0415 - the extra is imported when used
    except ImportError:
        print(MISSING, file=sys.stderr)  # noqa: T201 - the output of a command
        return 1
    asyncio.run(forward(address))
    return 0


async def forward(address: ServerAddress) -> None:
    """Pass messages on in both directions until one side closes."""
    import httpx2  # noqa: PLC0415 - a part of the extra
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - the same
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - the same

    async def pump(source: Any, target: Any) -> None:
        async for message in source:
            if not isinstance(message, Exception):
                await target.send(message)

    headers = {"Authorization": f"Bearer {address.token.get_secret_value()}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=None), trust_env=False) as http_client,
        stdio_server() as (from_client, to_client),
        streamable_http_client(address.url, http_client=http_client) as (from_server, to_server),
    ):
        pumps = {asyncio.create_task(pump(from_client, to_server)), asyncio.create_task(pump(from_server, to_client))}
        _, remaining = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for task in remaining:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


if __name__ == "__main__":
    sys.exit(main())
