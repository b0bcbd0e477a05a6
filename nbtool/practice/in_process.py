"""The practice model without a socket: the same replies, carried by the transport of this process."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping

from nbtool.practice.chat_completions import RequestRejected
from nbtool.practice.replies import JsonReply, StreamReply, check_key, reply_to
from nbtool.wire.transport.socketless.in_process_servers import InProcessReply, mount, unmount

PORT = 1
"""The port of its address; nothing listens there."""


class InProcessServer:
    """Answers at 127.0.0.1 for this process; `key` is random and valid until it is closed."""

    port = PORT

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(32)
        mount("127.0.0.1", PORT, self._answer)

    def close(self) -> None:
        """Answer no more requests."""
        unmount("127.0.0.1", PORT)

    def _answer(self, method: str, path: str, headers: Mapping[str, str], data: bytes) -> InProcessReply:
        try:
            check_key(headers.get("authorization", ""), self.key)
            reply = reply_to(method, path, data)
        except RequestRejected as rejected:
            reply = JsonReply(rejected.status, rejected.body)
        if isinstance(reply, StreamReply):
            return InProcessReply(200, "text/event-stream; charset=utf-8", _paced(reply.events))
        return InProcessReply(reply.status, "application/json", _whole(reply.data))


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _paced(events: Iterator[tuple[float, bytes]]) -> AsyncIterator[bytes]:
    """Yield server-sent events, each after its seconds."""
    for seconds, event in events:
        await asyncio.sleep(seconds)
        yield event
