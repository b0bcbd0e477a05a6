"""A kernel behind lines of JSON: each line of the input is a message for it, each line of the output is one of its."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

MAX_LINE = 64 * 1024 * 1024
CHANNELS = ("shell", "control", "iopub", "stdin")


async def main() -> None:
    """Run a kernel until the input ends."""
    manager = AsyncKernelManager(kernel_name="python3")
    manager.kernel_spec.argv[0] = sys.executable
    await manager.start_kernel()
    client: AsyncKernelClient = manager.client()
    client.start_channels(hb=False)
    listeners = [asyncio.create_task(print_messages(client, channel)) for channel in CHANNELS]
    try:
        await send_lines(manager, client)
    finally:
        for listener in listeners:
            listener.cancel()
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def print_messages(client: AsyncKernelClient, channel: str) -> None:
    """Print each message of a channel."""
    while True:
        message = await getattr(client, f"{channel}_channel").get_msg(timeout=None)
        buffers = [base64.b64encode(bytes(buffer)).decode() for buffer in message.get("buffers") or []]
        line = json.dumps({**message, "channel": channel, "buffers": buffers}, default=str)
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


async def send_lines(manager: AsyncKernelManager, client: AsyncKernelClient) -> None:
    """Send the message of each line of the input, or interrupt the kernel."""
    lines = asyncio.StreamReader(limit=MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        said: dict[str, Any] = json.loads(line)
        if said.get("interrupt"):
            await manager.interrupt_kernel()
            continue
        message = said["message"]
        buffers = [base64.b64decode(buffer) for buffer in message.pop("buffers", [])]
        channel = getattr(client, f"{message['channel']}_channel")
        client.session.send(channel.socket, message, buffers=buffers)


if __name__ == "__main__":
    asyncio.run(main())
