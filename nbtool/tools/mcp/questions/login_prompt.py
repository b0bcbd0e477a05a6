"""A person's consent to a login, and the way back from the browser: a socket of this machine, for one answer."""

from __future__ import annotations

import asyncio
import queue
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nbtool.clock import monotonic
from nbtool.errors import McpFailed
from nbtool.sign_in import AskLogin, LoginRequest, get_login_asker
from nbtool.tools.mcp.catalog.tool_list import server_label

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


AskInCall = Callable[[LoginRequest], Awaitable[bool]]
"""Asks a person in the turn whose call needs the login; on nbtool's loop."""


class LoginPrompt:
    """Brings the question of a login to the thread that waits for a server, or to the turn of a call that needs it.

    Where there is neither, nobody is asked. A person has some `seconds` to decide.
    """

    def __init__(self, ask: AskLogin, seconds: float = LOGIN_SECONDS) -> None:
        self._ask, self._seconds = ask, seconds
        self._requests: queue.SimpleQueue[tuple[LoginRequest, Future[bool]] | None] = queue.SimpleQueue()
        self._calls: dict[object, AskInCall] = {}
        self._timeouts: set[asyncio.Timeout] = set()
        self.is_attended = False

    @property
    def can_ask(self) -> bool:
        """Whether a person would be asked now."""
        return self.is_attended or bool(self._calls)

    @contextmanager
    def during_call(self, ask: AskInCall | None) -> Iterator[None]:
        """Ask in the turn of a call as long as it runs; of several calls, in the one that runs for longest."""
        key = object()
        if ask:
            self._calls[key] = ask
        try:
            yield
        finally:
            self._calls.pop(key, None)

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Limit what is done to some seconds, without the time of a login; raises `TimeoutError`."""
        async with asyncio.timeout(seconds) as timeout:
            self._timeouts.add(timeout)
            try:
                yield
            finally:
                self._timeouts.discard(timeout)

    async def ask(self, request: LoginRequest) -> bool:
        """Return whether the person saw the page of a login; False where nobody can be asked, or answers in time."""
        calls = list(self._calls.values())
        if not self.is_attended and not calls:
            return False
        self._postpone()
        try:
            async with asyncio.timeout(self._seconds):
                return await (self._ask_waiting(request) if self.is_attended else calls[0](request))
        except TimeoutError:
            return False
        finally:
            self._postpone()

    def _postpone(self) -> None:
        """Postpone what is limited by the time that a person has."""
        later = asyncio.get_running_loop().time() + LOGIN_SECONDS
        for timeout in self._timeouts:
            timeout.reschedule(max(later, timeout.when() or later))

    async def _ask_waiting(self, request: LoginRequest) -> bool:
        answer: Future[bool] = Future()
        self._requests.put((request, answer))
        return await asyncio.wrap_future(answer)

    def attend(self, done: Future[Any], seconds: float) -> None:
        """Ask on this thread until a future is done, for at most `seconds` without the time of logins."""
        done.add_done_callback(lambda _: self._requests.put(None))
        deadline = monotonic() + seconds
        self.is_attended = True
        try:
            while not done.done():
                item = self._requests.get(timeout=max(0.0, deadline - monotonic()))
                if item and _answer(self._ask, *item):
                    deadline = max(deadline, monotonic() + LOGIN_SECONDS)
        except queue.Empty:
            pass
        finally:
            self.is_attended = False


def ask_person(request: LoginRequest) -> bool:
    """Ask as the notebook does, where nbtool is loaded: on a card of its page; else with a line of input."""
    return (get_login_asker() or ask_by_line)(request)


def ask_by_line(request: LoginRequest) -> bool:
    """Ask with a line of input, and only after a plain yes print the address of the page."""
    consent = CONSENT.format(server=server_label(request.server), host=request.host)
    question = f"{request.warning}\n{consent}" if request.warning else consent
    try:
        answer = input(question).strip().lower()
    except (EOFError, OSError, NotImplementedError):  # nobody is there; ipykernel raises the last one
        return False
    if answer not in ("y", "yes"):
        return False
    print(page_text(request))  # noqa: T201 - for the person
    return True


def page_text(request: LoginRequest) -> str:
    """Return where the page of a login is, for a person who has agreed to it."""
    return PAGE.format(host=request.host, seconds=LOGIN_SECONDS, url=request.url)


def _answer(ask: AskLogin, request: LoginRequest, answer: Future[bool]) -> bool:
    """Ask, unless nobody waits for it any more; return whether a person was asked."""
    if not answer.set_running_or_notify_cancel():  # it came too late
        return False
    try:
        answer.set_result(bool(ask(request)))
    except BaseException as error:
        answer.set_result(False)
        if not isinstance(error, Exception):  # an interrupt of the cell
            raise
    return True


class BrowserReturn:
    """Receives the browser after a login; it listens only meanwhile.

    Its address, `uri`, is registered with the authorization server, so a later login uses the same one.
    """

    def __init__(self, uri: str = "") -> None:
        self.uri = uri or own_uri()
        self._url = urlsplit(self.uri)
        self.port = self._url.port
        self._server: asyncio.Server | None = None
        self._arrived: asyncio.Future[dict[str, str]] | None = None

    async def listen(self, state: str) -> None:
        """Begin to listen for the browser; requests without this `state` are turned away.

        Raises:
            McpFailed: another login uses the port.
        """
        arrived = self._arrived = asyncio.get_running_loop().create_future()

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
            self._server = await asyncio.start_server(serve, "127.0.0.1", self.port, limit=MAX_REQUEST)
        except OSError:
            raise McpFailed(f"Another login on this machine uses the port {self.port}.") from None

    async def receive(self, seconds: float = LOGIN_SECONDS) -> dict[str, str]:
        """Return the parameters with which the browser comes back, after `listen`.

        Raises:
            McpFailed: nobody came back in time.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._arrived if self._arrived else {}
        except TimeoutError:
            raise McpFailed(f"Nobody logged in within {seconds:g} s.") from None
        finally:
            self.close()

    def close(self) -> None:
        """Stop to listen."""
        if self._server:
            self._server.close()

    def _parameters(self, head: str, state: str) -> dict[str, str]:
        """Return the parameters of the expected request; empty for any other."""
        lines = head.split("\r\n")
        method, _, target = lines[0].partition(" ")
        hosts = [line.partition(":")[2].strip() for line in lines[1:] if line.lower().startswith("host:")]
        url = urlsplit(target.partition(" ")[0])
        if method != "GET" or url.path != self._url.path or hosts != [self._url.netloc]:
            return {}
        given = parse_qs(url.query, max_num_fields=20)
        found = {name: values[0] for name, values in given.items() if len(values) == 1}
        return found if found.get("state") == state else {}


def own_uri(port: int | None = None) -> str:
    """Return the address for the browser that nbtool registers by itself."""
    return f"http://127.0.0.1:{port or _free_port()}{CALLBACK_PATH}"


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
