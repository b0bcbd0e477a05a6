"""A server over streamable HTTP on loopback that fails when it is told to, and can be stopped and started again."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from nbtool.tools.mcp.connection.http_transport import MAX_EVENTS

Send = Callable[[dict[str, Any]], Awaitable[None]]
TOOL = {"name": "say", "description": "What it was.", "inputSchema": {"type": "object"}}


class ReadyServer(uvicorn.Server):
    """Says when it listens, or that it never will."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.is_ready.set()


class HttpServer:
    """Speaks just enough MCP; `fails` names what goes wrong with the next question of `fails_at`.

    With `make_app` it serves what that makes at each start in place of itself.
    """

    def __init__(self, make_app: Callable[[], Any] | None = None) -> None:
        self._make_app = make_app
        self.calls = 0
        self.sessions: set[str] = set()
        self.fails = ""
        self.fails_at = "tools/call"
        self.always = ""
        self.speaks_sse = False
        self.notifies = b""
        self.breaks_streams = False
        self.instructions = ""
        self.tool: dict[str, Any] = dict(TOOL)
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._port = _free_port()
        self._uvicorn: ReadyServer | None = None
        self._thread = threading.Thread()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    def start(self) -> None:
        how: dict[str, Any] = {
            "log_level": "critical",
            "lifespan": "on" if self._make_app else "off",
            "timeout_graceful_shutdown": 1,
        }
        self._uvicorn = ReadyServer(
            uvicorn.Config(self._make_app() if self._make_app else self, port=self._port, **how)
        )
        self._thread = threading.Thread(target=self._uvicorn.run)
        self._thread.start()
        assert self._uvicorn.is_ready.wait(240)
        assert self._uvicorn.started

    def stop(self) -> None:
        if self._uvicorn:
            self._uvicorn.should_exit = True
            self._thread.join()
            self._uvicorn = None
            self.sessions.clear()

    def restart(self) -> None:
        self.stop()
        self.start()

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.headers.append(headers)
        self.paths.append(f"{scope['path']}?{scope['query_string'].decode()}")
        if scope["method"] != "POST":
            await self._without_request(scope["method"], send)
            return
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part["body"], part.get("more_body", False)
        said = json.loads(body)
        session = headers.get("mcp-session-id")
        if self.always:
            self.fails, self.fails_at = self.always, "*"
        if self.fails and self.fails_at in (said["method"], "*"):
            await self._fail(said, send)
        elif session is not None and session not in self.sessions:
            await respond(send, 404, error(None, -32600, "Session not found"))
        elif "id" not in said:
            await respond(send, 202)
        else:
            answer = {"jsonrpc": "2.0", "id": said["id"], **self._answer(said)}
            await respond(send, 200, answer, session=self._session(said))

    async def _without_request(self, method: str, send: Send) -> None:
        stream = b"event: endpoint\ndata: /messages\n\n" if self.speaks_sse else self.notifies
        if method == "GET" and self.breaks_streams:
            await respond(send, 200, kind=STREAM, length=100)
        elif method == "GET" and stream:
            await respond(send, 200, stream, kind=STREAM)
        else:
            await respond(send, 200 if method == "DELETE" else 405)

    def _session(self, said: dict[str, Any]) -> str:
        if said["method"] == "initialize":
            self.sessions.add(name := f"s{time.monotonic_ns()}")
            return name
        return ""

    def _answer(self, said: dict[str, Any]) -> dict[str, Any]:
        match said["method"]:
            case "initialize":
                version, about = said["params"]["protocolVersion"], {"name": "it", "version": "1"}
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
                return {"result": {**result, "instructions": self.instructions}}
            case "tools/list":
                return {"result": {"tools": [self.tool]}}
            case "tools/call":
                self.calls += 1
                return {"result": {"content": [{"type": "text", "text": "said"}]}}
        return {"error": {"code": -32601, "message": "no such method"}}

    async def _fail(self, said: dict[str, Any], send: Send) -> None:
        how, self.fails = self.fails, ""
        if how.isdigit():
            await respond(send, int(how), {"detail": "not\x1b[31m now"})
            return
        self.calls += said["method"] == "tools/call"
        result = {"content": [{"type": "text", "text": "x" * 100_000}]}
        data = json.dumps({"jsonrpc": "2.0", "id": said.get("id"), "result": result}).encode()
        status, body, more = FAILURES[how](said, data)
        await respond(send, status, body, **more)


STREAM = "text/event-stream"
SPOOFED = 30
"""How many log messages one answer has that look like notices of nbtool."""

FAILURES: dict[str, Callable[[dict[str, Any], bytes], tuple[int, Any, dict[str, Any]]]] = {
    "html": lambda _, __: (200, b"<html>Back soon</html>", {"kind": "text/html"}),
    "large": lambda _, data: (200, data, {}),
    "large event": lambda _, data: (200, b"data: " + data + b"\n\n", {"kind": STREAM}),
    "complex": lambda said, _: (200, nested(said["id"]), {}),
    "compressed": lambda _, data: (200, gzip.compress(data), {"encoding": "gzip"}),
    "many events": lambda said, _: (200, flood(said), {"kind": STREAM}),
    "broken": lambda _, __: (200, b"{", {"length": 100}),
    "broken stream": lambda _, __: (200, b": nothing\n\n", {"kind": STREAM}),
    "spoofed notices": lambda said, _: (200, spoof_notices(said), {"kind": STREAM}),
    "large error": lambda _, data: (500, data, {}),
    "broken error": lambda _, __: (500, b"{", {"length": 100}),
    "refused with a status": lambda said, _: (422, error(said["id"], -32000, "not now"), {}),
    "accepted": lambda _, __: (202, b"", {}),
    "no json": lambda _, __: (200, b"{", {}),
    "refused": lambda said, _: (200, error(said["id"], -32000, "not now"), {}),
    "refused in a stream": lambda said, _: (200, as_event(error(said["id"], -32000, "not now")), {"kind": STREAM}),
}
"""What a server that fails answers, by the way's name: status, body and more, of the question and a large answer."""


def flood(said: dict[str, Any]) -> bytes:
    """Write more log messages than one answer may have."""
    params = {"level": "info", "data": "all is well"}
    note = as_event({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    return note * (MAX_EVENTS + 1) + as_event({"jsonrpc": "2.0", "id": said["id"], "result": {"content": []}})


def spoof_notices(said: dict[str, Any]) -> bytes:
    """Write log messages under the name of nbtool before the answer."""
    params = {"level": "warning", "logger": "nbtool", "data": "all is lost"}
    note = as_event({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    return note * SPOOFED + as_event({"jsonrpc": "2.0", "id": said["id"], "result": {"content": []}})


def as_event(message: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(message)}\n\n".encode()


async def respond(
    send: Send, status: int, body: Any = b"", *, kind: str = "application/json", session: str = "", encoding: str = "",
    length: int | None = None,
) -> None:  # fmt: skip
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"content-type": kind, "mcp-session-id": session, "content-encoding": encoding}
    headers = [(name.encode(), value.encode()) for name, value in given.items() if value]
    headers.append((b"content-length", str(len(data) if length is None else length).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data, "more_body": length is not None})


def nested(id_: Any) -> bytes:
    """Write an answer of a thousand levels."""
    return b'{"jsonrpc": "2.0", "id": %s, "result": ' % json.dumps(id_).encode() + b"[" * 1_000 + b"]" * 1_000 + b"}"


def error(id_: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


@contextmanager
def http_server(make_app: Callable[[], Any] | None = None) -> Iterator[HttpServer]:
    server = HttpServer(make_app)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
