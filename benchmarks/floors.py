"""Minimal clients for the same requests: a complete tool loop on a raw socket, and one with httpx by hand.

Both keep the history, collect the calls, run the tools and send the results; the first parses events with the standard
library's JSON, the second with httpx and pydantic_core.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from benchmarks.server import MODEL

Tools = dict[str, Callable[..., str]]
Hear = Callable[[str], object]

SCHEMAS: dict[str, dict[str, Any]] = {
    "lookup": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "n": {"type": "integer"}, "exact": {"type": "boolean"}},
        "required": ["key", "n", "exact"],
    },
    "save": {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    "blob": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}


def specs(tools: Tools) -> list[dict[str, Any]]:
    """Describe the tools as a hand-written loop would."""
    return [
        {"type": "function", "function": {"name": name, "description": tool.__doc__, "parameters": SCHEMAS[name]}}
        for name, tool in tools.items()
    ]


class Collector:
    """One streamed reply: its text and its calls."""

    def __init__(self, hear: Hear, loads: Callable[[bytes], Any]) -> None:
        self._hear, self._loads = hear, loads
        self.texts: list[str] = []
        self.calls: dict[int, tuple[str, str, list[str]]] = {}

    def feed(self, data: bytes) -> None:
        """Process the data of one event."""
        if data == b"[DONE]" or not (choices := self._loads(data)["choices"]):
            return
        delta = choices[0]["delta"]
        if text := delta.get("content"):
            self.texts.append(text)
            self._hear(text)
        for call in delta.get("tool_calls") or ():
            function = call["function"]
            if call["index"] not in self.calls:
                self.calls[call["index"]] = (call["id"], function["name"], [])
            self.calls[call["index"]][2].append(function["arguments"])


class Events:
    """Split bytes into the data of complete events; supports only the part of SSE that this server uses."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Process the next bytes."""
        *events, self._rest = (self._rest + data).split(b"\n\n")
        return [event.removeprefix(b"data: ") for event in events]


class Loop:
    """A tool loop; `post` sends a body and feeds the response."""

    loads: Callable[[bytes], Any] = staticmethod(json.loads)

    def __init__(self, base: str, tools: Tools) -> None:
        self.base, self.tools = base, tools
        self._specs = specs(tools)
        self._runner = asyncio.Runner()

    def run(self, prompt: str, hear: Hear) -> str:
        """Run one turn; return its final text."""
        return self._runner.run(self._turn(prompt, hear))

    async def answer(self, prompt: str) -> str:
        """Run one turn beside others; return its final text."""
        return await self._turn(prompt, lambda _: None)

    async def _turn(self, prompt: str, hear: Hear) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
        while True:
            body = {"model": MODEL, "messages": messages, "tools": self._specs, "stream": True,
                    "stream_options": {"include_usage": True}}  # fmt: skip
            gathered = Collector(hear, self.loads)
            await self.post(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), gathered)
            text = "".join(gathered.texts)
            calls = [(call_id, name, "".join(args)) for call_id, name, args in gathered.calls.values()]
            if not calls:
                return text
            said = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
            messages.append({"role": "assistant", "content": text or None, "tool_calls": said})
            for call_id, name, args in calls:
                result = self.tools[name](**json.loads(args))
                messages.append({"role": "tool", "tool_call_id": call_id, "content": result})

    async def post(self, body: bytes, gathered: Collector) -> None:
        """Send a body and collect the reply."""
        raise NotImplementedError


class Raw(Loop):
    """A socket, a hand-written parser of HTTP chunks, and the standard library's JSON."""

    _line: _Line | None = None

    async def post(self, body: bytes, gathered: Collector) -> None:
        """Send a body and collect the reply."""
        host, _, path = self.base.removeprefix("http://").partition("/")
        if self._line is None:
            name, _, port = host.partition(":")
            _, self._line = await asyncio.get_running_loop().create_connection(_Line, name, int(port))
        head = (
            f"POST /{path}/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer x\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        await self._line.ask(head.encode() + body, gathered)


class _Line(asyncio.Protocol):
    """One connection; one reply at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def ask(self, request: bytes, gathered: Collector) -> asyncio.Future[None]:
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rest, self._in_head, self._left = b"", True, 0
        self._events, self._gathered = Events(), gathered
        self._transport.write(request)
        return self._done

    def data_received(self, data: bytes) -> None:
        try:
            for event in self._events.feed(self._body(self._rest + data)):
                self._gathered.feed(event)
        except Exception as error:  # noqa: BLE001 - raised in the loop
            self._done.set_exception(error)

    def _body(self, data: bytes) -> bytes:
        """Return the data of the complete chunks."""
        at, parts = 0, []
        if self._in_head:
            if (end := data.find(b"\r\n\r\n")) < 0:
                self._rest = data
                return b""
            at, self._in_head = end + 4, False
        while (line := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:line], 16)
            if len(data) < line + 2 + size + 2:
                break
            if not size:
                self._done.set_result(None)
            parts.append(data[line + 2 : line + 2 + size])
            at = line + 2 + size + 2
        self._rest = data[at:]
        return b"".join(parts)


class ByHand(Loop):
    """A hand-written loop with httpx and pydantic_core."""

    def __init__(self, base: str, tools: Tools) -> None:
        super().__init__(base, tools)
        import httpx  # noqa: PLC0415 - the raw socket needs none of it
        from pydantic_core import from_json  # noqa: PLC0415 - the same

        self.loads = from_json
        self._client = httpx.AsyncClient(headers={"authorization": "Bearer x", "content-type": "application/json"})

    async def post(self, body: bytes, gathered: Collector) -> None:
        """Send a body and collect the reply."""
        events = Events()
        async with self._client.stream("POST", f"{self.base}/chat/completions", content=body) as response:
            async for data in response.aiter_bytes():
                for event in events.feed(data):
                    gathered.feed(event)
