"""A program that uses a served notebook: the official client, and plain requests."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.contract.notebook import Kernel, process_environment


def serve(kernel: Kernel, flags: str) -> tuple[str, str]:
    """Serve something of a kernel, and give the address and the token."""
    output = kernel.run(f"%chat serve {flags}")
    assert not output.error
    home = Path(kernel.run("import os; print(os.environ['NBTOOL_HOME'])").stream.strip())
    command = [str(Path(sys.executable).parent / "nbtool-mcp"), "--token"]
    printed = subprocess.run(
        command, env=process_environment(home), capture_output=True, text=True, check=True, timeout=240
    ).stdout
    url, token = printed.split()
    assert token not in output.everything
    return url, token


def use(address: tuple[str, str], work: Any) -> Any:
    """Connect with the official client, and do something."""
    url, token = address

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=240) as http,
            streamable_http_client(url, http_client=http) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return await work(session)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def begin(url: str, headers: dict[str, str]) -> httpx2.Response:
    """Send what a client sends first."""
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    return httpx2.post(url, json=body, headers={"Accept": "application/json, text/event-stream", **headers})
