"""A person's consent to a login, and the way back from the browser: a socket of this machine, for one answer."""

from __future__ import annotations

import asyncio
import queue
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nbtool.errors import McpFailed
from nbtool.tools.mcp.tool_list import server_label

LOGIN_SECONDS = 300.0
"""Seconds that a person has to log in, after the page was shown."""

MAX_REQUEST = 16_000
"""Maximum number of bytes of the browser's request."""

REQUEST_SECONDS = 10.0
"""Seconds in which the browser's request has to arrive once it has connected."""

CALLBACK_PATH = "/nbtool-login"
CONSENT = "{server} asks you to log in at {host}. Show the address of that page? [y = yes] "
PAGE = "Log in at {host}, in a browser of this machine, within {seconds:g} s:\n{url}"
DONE = b"You can close this page and return to the notebook."
_RESPONSE = (
    b"HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
)


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """The page at which a person would log in to a server; `host` is that of the page."""

    server: str
    host: str
    url: str


AskLogin = Callable[[LoginRequest], bool]
"""Asks a person; True if the page was shown and the answer is to be waited for. Called on the waiting thread."""


class LoginPrompt:
    """Brings the question of a login to the thread that waits for a server.

    While nobody waits, it is not `is_attended`, and nobody is asked.
    """

    def __init__(self, ask: AskLogin) -> None:
        self._ask = ask
        self._requests: queue.SimpleQueue[tuple[LoginRequest, Future[bool]] | None] = queue.SimpleQueue()
        self.is_attended = False

    async def ask(self, request: LoginRequest) -> bool:
        """Return whether the person saw the page of a login; False where nobody waits."""
        if not self.is_attended:
            return False
        answer: Future[bool] = Future()
        self._requests.put((request, answer))
        return await asyncio.wrap_future(answer)

    def attend(self, done: Future[Any], seconds: float) -> None:
        """Ask on this thread until a future is done, for at most `seconds` without the time of logins."""
        done.add_done_callback(lambda _: self._requests.put(None))
        deadline = time.monotonic() + seconds
        self.is_attended = True
        try:
            while not done.done():
                item = self._requests.get(timeout=max(0.0, deadline - time.monotonic()))
                if item:
                    _answer(self._ask, *item)
                    deadline = max(deadline, time.monotonic() + LOGIN_SECONDS)
        except queue.Empty:
            pass
        finally:
            self.is_attended = False


def ask_by_line(request: LoginRequest) -> bool:
    """Ask with a line of input, and only after a plain yes print the address of the page."""
    question = CONSENT.format(server=server_label(request.server), host=request.host)
    try:
        answer = input(question).strip().lower()
    except (EOFError, OSError, NotImplementedError):  # nobody is there; ipykernel raises the last one
        return False
    if answer not in ("y", "yes"):
        return False
    print(PAGE.format(host=request.host, seconds=LOGIN_SECONDS, url=request.url))  # noqa: T201 - for the person
    return True


def _answer(ask: AskLogin, request: LoginRequest, answer: Future[bool]) -> None:
    try:
        answer.set_result(bool(ask(request)))
    except BaseException as error:
        answer.set_result(False)
        if not isinstance(error, Exception):  # an interrupt of the cell
            raise


class BrowserReturn:
    """Receives the browser after a login; it listens only meanwhile.

    The address is registered with the authorization server, so a later login uses the same `port`.
    """

    def __init__(self, port: int | None = None) -> None:
        self.port = port or _free_port()
        self.uri = f"http://127.0.0.1:{self.port}{CALLBACK_PATH}"

    async def receive(self, state: str, seconds: float = LOGIN_SECONDS) -> dict[str, str]:
        """Return the parameters with which the browser comes back; others than with this `state` are turned away.

        Raises:
            McpFailed: nobody came back in time.
        """
        arrived: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                found = self._parameters(await _request_head(reader), state)
                status, body = (b"200 OK", DONE) if found else (b"404 Not Found", b"")
                writer.write(_RESPONSE % (status, len(body), body))
                await writer.drain()
                if found and not arrived.done():
                    arrived.set_result(found)
            except (OSError, TimeoutError, ValueError):
                pass  # what is no browser after a login
            finally:
                writer.close()

        try:
            server = await asyncio.start_server(serve, "127.0.0.1", self.port, limit=MAX_REQUEST)
        except OSError:
            raise McpFailed(f"Another login on this machine uses the port {self.port}.") from None
        try:
            async with asyncio.timeout(seconds):
                return await arrived
        except TimeoutError:
            raise McpFailed(f"Nobody logged in within {seconds:g} s.") from None
        finally:
            server.close()

    def _parameters(self, head: str, state: str) -> dict[str, str]:
        """Return the parameters of the expected request; empty for any other."""
        lines = head.split("\r\n")
        method, _, target = lines[0].partition(" ")
        hosts = [line.partition(":")[2].strip() for line in lines[1:] if line.lower().startswith("host:")]
        url = urlsplit(target.partition(" ")[0])
        if method != "GET" or url.path != CALLBACK_PATH or hosts != [f"127.0.0.1:{self.port}"]:
            return {}
        given = parse_qs(url.query, max_num_fields=20)
        found = {name: values[0] for name, values in given.items() if len(values) == 1}
        return found if found.get("state") == state else {}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _request_head(reader: asyncio.StreamReader) -> str:
    async with asyncio.timeout(REQUEST_SECONDS):
        try:
            return (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise ValueError from None
