"""Errors of MCP servers that say little: a status without a name, and a report that is none."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED

from nbtool.errors import McpFailed
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.connection.exchange import Exchange, exchange
from nbtool.tools.mcp.connection.failures import SessionLost, parse_exit_report, to_tool_failure
from nbtool.tools.mcp.connection.http_transport import Body, Transport, describe_status
from nbtool.tools.mcp.stdio.stdio_process import report
from tests.policy.in_force import policy_in_force

STDIO = ServerSpec("lab", command="lab")
CLOSED = MCPError(CONNECTION_CLOSED, "Connection closed")


@pytest.mark.parametrize(
    ("error", "stderr", "text", "ends_session"),
    [
        (ExceptionGroup("", [OSError("no such folder")]), "", "failed: OSError: no such folder", False),
        (anyio.ClosedResourceError(), report(3, b"last\n", ""), "has ended (exit status 3).", True),
        (CLOSED, report(3, b"last\n", ""), "has ended (exit status 3).", True),
        (CLOSED, "", "says: Connection closed", True),
    ],
)  # fmt: skip
def test_an_error_outside_of_a_call_names_the_server_and_ends_its_session_if_it_is_over(
    error: BaseException, stderr: str, text: str, ends_session: bool
) -> None:
    failure = to_tool_failure(error, STDIO, Exchange(), io.StringIO(stderr), is_call=False)

    assert failure.message == f"The MCP server 'lab' {text}"
    assert isinstance(failure, SessionLost) is ends_session


def test_a_server_that_refuses_a_call_with_the_code_of_a_closed_connection_keeps_its_session() -> None:
    failure = to_tool_failure(CLOSED, STDIO, Exchange(), io.StringIO(), is_call=True)

    assert type(failure) is McpFailed


def test_a_status_without_a_name_is_shown_by_its_number() -> None:
    problem, _ = describe_status(ServerSpec("lab", url="http://127.0.0.1:9"), Exchange(status=599, detail="down"))

    assert problem == "answered 599: down."


def test_the_report_of_an_ended_server_is_read_back() -> None:
    problem = "It wrote too much."
    written = report(3, b"first\nlast \xff\n", problem)

    phrase, text = parse_exit_report(io.StringIO(written))
    assert phrase == " (exit status 3)"
    assert text.startswith(f"{problem} ")
    assert text.endswith(": first / last \ufffd")


def test_a_report_that_is_none_is_shown_as_the_stderr_that_it_is() -> None:
    phrase, text = parse_exit_report(io.StringIO("Traceback\nImportError: mcp\n"))

    assert (phrase, text.partition(": ")[2]) == ("", "Traceback / ImportError: mcp")


def test_of_the_body_of_an_error_only_the_start_is_read() -> None:
    read: list[int] = []

    async def chunks() -> AsyncIterator[bytes]:
        for number in range(5):
            read.append(number)
            yield b"x" * 40

    async def start() -> bytes:
        return await Body(chunks(), Exchange(), max_message=1_000).read_start(70)

    assert asyncio.run(start()) == b"x" * 70
    assert read == [0, 1]


@pytest.mark.promise("policy-hosts")
def test_a_login_that_leads_to_a_host_which_a_policy_does_not_list_sends_nothing(tmp_path: Path) -> None:
    spec = ServerSpec("lab", url="https://lab.example/mcp")
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.host)
        return httpx2.Response(200)

    async def post(url: str) -> tuple[int, Exchange]:
        with exchange() as current:
            response = await Transport(spec, httpx2.MockTransport(answer)).handle_async_request(
                httpx2.Request("POST", url)
            )
        return response.status_code, current

    with policy_in_force(tmp_path, "[hosts]\nmcp = ['https://lab.example']") as path:
        own, _ = asyncio.run(post("https://lab.example/mcp"))
        refused, current = asyncio.run(post("https://login.example/token"))
    failure = to_tool_failure(CLOSED, spec, current, io.StringIO(), is_call=False)

    assert (own, refused, sent) == (200, 503, ["lab.example"])
    assert all(part in str(failure) for part in ("'lab'", str(path), "https://login.example"))


@pytest.mark.parametrize("event", [b"data: {}\n\n", b"data: {}\r\n\r\n"])
def test_a_stream_may_have_as_many_messages_as_its_limit(event: bytes) -> None:
    async def received(count: int) -> tuple[int, str]:
        async def events() -> AsyncIterator[bytes]:
            for _ in range(count):
                yield event

        current, size = Exchange(is_stream=True), 0
        with suppress(httpx2.StreamError):
            async for data in Body(events(), current, max_message=1_000, max_events=3):
                size += len(data)
        return size // len(event), current.problem

    assert asyncio.run(received(3)) == (3, "")
    assert asyncio.run(received(4)) == (3, "too_many")
