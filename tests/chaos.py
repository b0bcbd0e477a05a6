"""A loopback HTTP server that misbehaves exactly as it is told.

    with serve(head(), event({"choices": []}), Silence()) as server:
        HttpEndpoint(wire, server.url, "m")

What follows `serve` are the steps of one answer, in order; `serve_each` takes a list of answers, one for each
request, of which the last is repeated; `serve_by` takes a function that makes the answer to a request. A step is bytes
to send, or one of the deeds below. After the last step the server closes the connection, unless the answer had a length
of its own (`whole`).
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Pause:
    """Send nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class Silence:
    """Send nothing more and hold the socket until the client leaves."""


@dataclass(frozen=True)
class Repeat:
    """Send the same bytes over and over until the client leaves."""

    data: bytes
    every: float = 0.01


@dataclass(frozen=True)
class Trickle:
    """Send bytes in pieces, each in a packet of its own."""

    data: bytes
    size: int = 1
    every: float = 0.0


@dataclass(frozen=True)
class Reset:
    """Break the connection with a TCP reset."""


@dataclass(frozen=True)
class AwaitFlag:
    """Send nothing until the test sets `server.flag`."""


Step = bytes | Pause | Silence | Repeat | Trickle | Reset | AwaitFlag


@dataclass
class Received:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass
class ChaosServer:
    """The running server: its address and what it saw. `asked` is set by the first request, `left`
    when a client leaves in mid-answer."""

    answers: Sequence[Sequence[Step]]
    port: int = 0
    respond: Callable[[Received], Sequence[Step]] | None = None
    tls: ssl.SSLContext | None = None
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    asked: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)
    flag: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """The address, as a provider's base address."""
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}/v1"

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.port}"

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while request := await _receive(reader):
                answer = self._next_answer(request)
                self.requests.append(request)
                self.asked.set()
                await self._answer(answer, reader, writer)
                if not any(isinstance(step, bytes) and b"content-length:" in step for step in answer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            with suppress(Exception):
                writer.close()

    def _next_answer(self, request: Received) -> Sequence[Step]:
        if self.respond:
            return self.respond(request)
        return self.answers[min(len(self.requests), len(self.answers) - 1)]

    async def _answer(self, answer: Sequence[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for step in answer:
            if isinstance(step, Silence):
                await reader.read()
                self.left.set()
            elif isinstance(step, AwaitFlag):
                await asyncio.to_thread(self.flag.wait, 240)
            elif isinstance(step, Repeat):
                await self._repeat(step, reader, writer)
            else:
                await _send(step, writer)

    async def _repeat(self, step: Repeat, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof():
            writer.write(step.data)
            await writer.drain()
            await asyncio.sleep(step.every)
        self.left.set()


async def _send(step: bytes | Pause | Trickle | Reset, writer: asyncio.StreamWriter) -> None:
    match step:
        case bytes():
            writer.write(step)
        case Pause(seconds):
            await asyncio.sleep(seconds)
        case Trickle(data, size, every):
            for start in range(0, len(data), size):
                writer.write(data[start : start + size])
                await writer.drain()
                await asyncio.sleep(every)
        case Reset():
            # a linger of no time makes the close a reset (RST) in place of an orderly end (FIN)
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            raise ConnectionResetError
    await writer.drain()


@contextmanager
def serve(*steps: Step) -> Iterator[ChaosServer]:
    """Run a server that gives every request the same answer."""
    with serve_each(steps) as server:
        yield server


@contextmanager
def serve_each(*answers: Sequence[Step], tls: ssl.SSLContext | None = None) -> Iterator[ChaosServer]:
    """Run a server that gives each request the next answer."""
    with _running(ChaosServer(answers, tls=tls)) as server:
        yield server


@contextmanager
def serve_by(
    respond: Callable[[Received], Sequence[Step]], *, tls: ssl.SSLContext | None = None
) -> Iterator[ChaosServer]:
    """Run a server whose answers are made from the requests."""
    with _running(ChaosServer((), respond=respond, tls=tls)) as server:
        yield server


@contextmanager
def _running(server: ChaosServer) -> Iterator[ChaosServer]:
    started = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def run() -> None:
        ending = asyncio.Event()
        listener = await asyncio.start_server(server._converse, "127.0.0.1", 0, ssl=server.tls)
        server.port = listener.sockets[0].getsockname()[1]
        stop.append((asyncio.get_running_loop(), ending))
        started.set()
        await ending.wait()
        listener.close()

    thread = threading.Thread(target=asyncio.run, args=(run(),), name="chaos", daemon=True)
    thread.start()
    assert started.wait(240)
    try:
        yield server
    finally:
        server.flag.set()
        loop, ending = stop[0]
        loop.call_soon_threadsafe(ending.set)
        thread.join(240)


def head(status: int = 200, content_type: str = "text/event-stream", **headers: str) -> bytes:
    """Give the head of an answer whose body ends with the connection; `_` in a header's name stands for `-`."""
    lines = [f"HTTP/1.1 {status} Status", f"content-type: {content_type}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(status: int, body: bytes | dict[str, Any], content_type: str = "application/json", **headers: str) -> bytes:
    """Give a whole answer with its length, after which the connection stays open."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    lines = [f"HTTP/1.1 {status} Status", f"content-type: {content_type}", f"content-length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content


def event(value: dict[str, Any] | str, name: str = "") -> bytes:
    """Give one event of a stream."""
    data = value if isinstance(value, str) else json.dumps(value)
    return (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


def text(said: str) -> bytes:
    """Give the event of a Chat Completions stream that brings text."""
    return event({"choices": [{"index": 0, "delta": {"content": said}, "finish_reason": None}]})


def finish(reason: str = "stop") -> bytes:
    """Give the event of a Chat Completions stream that ends the choice."""
    return event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


DONE = event("[DONE]")
"""The end mark of a stream."""


async def _receive(reader: asyncio.StreamReader) -> Received | None:
    """Read one request; None where the client has left."""
    try:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    method, path, _ = lines[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body)
