"""The messages of one agent: requests, notifications and answers, handled one after the other as they arrive.

The package's own connection starts a task for each message, so that updates can be handled after the answer that
followed them; it answers `$/cancel_request` with an error and goes on. Here the order is that of the agent.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Protocol

from nbtool.errors import ConnectionFailed, InvalidReply, WireError
from nbtool.text import count_of
from nbtool.wire.agents.agent_process import DROPPED
from nbtool.wire.agents.process import AgentProcess, one_line

METHOD_NOT_FOUND = -32601
CANCELLED = -32800
AUTH_REQUIRED = -32000
"""The code with which an agent asks for a login."""

CANCEL_REQUEST = "$/cancel_request"

END_FIX = "Run the cell again, which starts a new one; if that ends too, run `{command}` in a terminal to see why."

MAX_STRAY = 1_000
"""Maximum number of lines of an agent that are no messages; then it is ended."""

Json = Mapping[str, Any]
RequestId = str | int


class AgentError(WireError):
    """An error that an agent answered to a request: its own text, and its code."""

    def __init__(self, label: str, text: str, code: int) -> None:
        super().__init__(f"{label} says: {text}")
        self.text, self.code = text, code


class Receiver(Protocol):
    """Handles what an agent sends by itself; nothing of it may block."""

    def notify(self, method: str, params: Json) -> None:
        """Handle a notification."""

    def ask(self, request: RequestId, method: str, params: Json) -> None:
        """Handle a request, and answer it by `AgentConnection.answer` or `refuse`."""

    def end(self, error: WireError) -> None:
        """Handle the end of the connection."""


class AgentConnection:
    """The connection with a running agent, on nbtool's loop.

    Each request of the agent is answered exactly once: what is answered a second time, or was cancelled, is dropped.
    `command` is what a person runs to see why the agent ends by itself.
    """

    def __init__(self, label: str, process: AgentProcess, receiver: Receiver, command: str = "") -> None:
        self._label, self._process, self._receiver, self._command = label, process, receiver, command
        self._last_id = 0
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._open_requests: set[RequestId] = set()
        self._stray = 0
        self._error: WireError | None = None
        self._task = asyncio.create_task(self._read())

    def request(self, method: str, params: Json) -> asyncio.Future[Json]:
        """Send a request, and return the future of its result, or of an `AgentError` that the agent answers.

        Where the agent has ended, or ends, it is that of the error with which it did.
        """
        self._last_id += 1
        future: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # one that nobody awaits is no news
        if self._error:
            future.set_exception(self._error.changed())
            return future
        self._waiting[self._last_id] = future
        self._send({"id": self._last_id, "method": method, "params": params})
        return future

    def notify(self, method: str, params: Json) -> None:
        """Send a notification; nothing where the agent has ended."""
        self._send({"method": method, "params": params})

    def answer(self, request: RequestId, result: Json) -> bool:
        """Answer a request of the agent; return False if it was answered or cancelled before."""
        return self._respond(request, {"result": result})

    def refuse(self, request: RequestId, code: int, text: str) -> bool:
        """Answer a request of the agent with an error; as `answer`."""
        return self._respond(request, {"error": {"code": code, "message": text}})

    async def close(self) -> None:
        """End the agent and everything that it started."""
        self._fail(ConnectionFailed(f"{self._label} was ended."))
        self._task.cancel()
        await self._process.end()

    def _respond(self, request: RequestId, body: Json) -> bool:
        if request not in self._open_requests:
            return False
        self._open_requests.discard(request)
        self._send({"id": request, **body})
        return True

    def _send(self, message: Json) -> None:
        if self._error is None and not self._process.writer.is_closing():
            line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
            self._process.writer.write(line.encode("utf-8", "replace") + b"\n")

    async def _read(self) -> None:
        """Handle the messages of the agent until they end."""
        try:
            while line := await self._process.reader.readline():
                self._handle(line)
                if self._error:
                    return
        except (ValueError, OSError) as error:  # a line above the limit, which the supervisor does not pass on
            self._fail(InvalidReply(f"{self._label} cannot be read ({type(error).__name__})."))
            return
        how = await self._process.end()
        fix = END_FIX.format(command=self._command) if self._command else ""
        self._fail(ConnectionFailed(f"{self._label} has ended{how}.".replace("..", "."), fix=fix))

    def _handle(self, line: bytes) -> None:
        message = parse(line)
        if message is None:
            self._stray += bool(line.strip())
            if self._stray > MAX_STRAY:
                self._fail(InvalidReply(f"{self._label} wrote more than {MAX_STRAY:,} lines that are no messages."))
            return
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, Mapping) else {}
        if not isinstance(method, str):
            self._settle(message)
        elif "id" not in message:
            self._take_notification(method, params)
        else:
            self._take_request(message["id"], method, params)

    def _take_notification(self, method: str, params: Json) -> None:
        if method == DROPPED:
            size = params.get("size")
            shown = count_of(size, "byte") if isinstance(size, int) else "too many bytes"
            text = f"{self._label} sent a message of {shown}, more than is read of one, so it was ended."
            self._fail(InvalidReply(text))
        elif method == CANCEL_REQUEST:
            request = params.get("requestId")
            if isinstance(request, str | int):
                self.refuse(request, CANCELLED, "The request was cancelled.")
        else:
            self._receiver.notify(method, params)

    def _take_request(self, request: Any, method: str, params: Json) -> None:
        if not isinstance(request, str | int) or request in self._open_requests:
            return  # there is nothing that could be answered, or only once
        self._open_requests.add(request)
        self._receiver.ask(request, method, params)

    def _settle(self, message: Json) -> None:
        """Hand a response to the request that waits for it; one that nothing waits for is late."""
        request = message.get("id")
        future = self._waiting.pop(request, None) if isinstance(request, int) else None
        if future is None or future.done():
            return
        error = message.get("error")
        if isinstance(error, Mapping):
            code = error.get("code")
            text = one_line(error.get("message", "")) or "an error"
            future.set_exception(AgentError(self._label, text, code if isinstance(code, int) else 0))
            return
        result = message.get("result")
        future.set_result(result if isinstance(result, Mapping) else {})

    def _fail(self, error: WireError) -> None:
        """Note the end: every request fails, and no message is sent any more."""
        if self._error:
            return
        self._error = error
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error.changed())
        self._waiting.clear()
        self._open_requests.clear()
        self._process.begin_end()
        self._receiver.end(error)


def parse(line: bytes) -> Json | None:
    """Return a line as a message; None if it is none."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) and message.get("jsonrpc") == "2.0" else None
