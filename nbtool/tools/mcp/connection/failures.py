"""Convert failures of an MCP server to one nbtool error: what happened, whether a call may have run, and the fix."""

from __future__ import annotations

import json
import signal
from http import HTTPStatus
from typing import TYPE_CHECKING, TextIO

from pydantic import ValidationError

from nbtool.errors import McpFailed, ToolFailed
from nbtool.text import shorten
from nbtool.tools.mcp.catalog.tool_list import server_label
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.connection.exchange import Exchange
from nbtool.tools.mcp.connection.http_transport import MAX_EVENTS, describe_status
from nbtool.tools.mcp.stdio import stdio_messages
from nbtool.tools.values.model_text import format_error
from nbtool.tools.values.sanitize import single_line, without_paths

if TYPE_CHECKING:
    from mcp import MCPError


class SessionLost(McpFailed):
    """The session cannot be used any more: start another one before the next request."""


MAX_MESSAGE_CHARS = 2_000
"""Maximum number of characters of a server's message in an error."""

STDERR_LINES = 3
"""Number of last stderr lines included in an error."""

MAX_STDERR_CHARS = 500
"""Maximum number of characters of them."""

NOT_REPEATED = " It is not known whether the tool ran, and the call was not repeated."

_MESSAGES = ("application/json", "text/event-stream")


def to_tool_failure(
    error: BaseException, spec: ServerSpec, current: Exchange, stderr: TextIO, *, is_call: bool
) -> ToolFailed:
    """Return a new error; `is_call` means that a tool may have run. A `SessionLost` ends the session."""
    from mcp import MCPError  # noqa: PLC0415 - part of the extra
    from mcp.types import CONNECTION_CLOSED  # noqa: PLC0415 - the same

    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolFailed):
        return error
    server, outcome_note = server_label(spec.name), NOT_REPEATED if is_call else ""
    failure = (
        _policy_failure(spec, current)
        or _body_failure(spec, current, is_call=is_call)
        or _status_failure(spec, current, is_call=is_call)
    )
    if failure:
        return failure
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return _session_closed(error, spec, current, stderr, is_call=is_call)
    if isinstance(error, MCPError):
        return _rpc_failure(error, spec, is_call=is_call)
    if isinstance(error, ValidationError):
        return McpFailed(f"{server} answered otherwise than MCP says: {_clean(spec, _describe(error))}.{outcome_note}")
    if str(error):
        return McpFailed(f"{server} failed: {_clean(spec, format_error(error))}")
    exit_phrase, stderr_text = parse_exit_report(stderr)
    return SessionLost(f"{server} has ended{exit_phrase}.{outcome_note}", fix=_clean(spec, stderr_text))


def _rpc_failure(error: MCPError, spec: ServerSpec, *, is_call: bool) -> McpFailed:
    """Return the error that a server answered, with what it says besides its message."""
    unread_failures = {
        stdio_messages.TOO_LARGE: _too_large_error,
        stdio_messages.TOO_COMPLEX: _too_complex_error,
        stdio_messages.UNREADABLE: _unreadable_error,
    }
    if unread_failure := unread_failures.get(str(error.data)):
        return unread_failure(spec, is_call=is_call)
    text = f"{server_label(spec.name)} says: {_clean(spec, error.message)}{_details(spec, error.data)}"
    return McpFailed(text)


def _details(spec: ServerSpec, data: object) -> str:
    """Return what an error of the server says besides its message, as it was sent."""
    if data is None or data == "":
        return ""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
    return f" ({_clean(spec, text)})"


def _describe(error: ValidationError) -> str:
    """Return the first problem of an answer that cannot be read, without its values."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _session_closed(
    error: MCPError, spec: ServerSpec, current: Exchange, stderr: TextIO, *, is_call: bool
) -> ToolFailed:
    """Distinguish the end of the connection from an error of the server: both have the same code."""
    server, outcome_note = server_label(spec.name), NOT_REPEATED if is_call else ""
    if spec.url:
        is_over = not current.status or (current.is_stream and current.is_at_end)
        text = (
            f"{server} interrupted its response.{outcome_note}"
            if is_over
            else f"{server} says: {_clean(spec, error.message)}"
        )
        return McpFailed(text) if is_call else SessionLost(text)
    exit_phrase, stderr_text = parse_exit_report(stderr)
    if exit_phrase or stderr_text:
        return SessionLost(f"{server} has ended{exit_phrase}.{outcome_note}", fix=_clean(spec, stderr_text))
    text = f"{server} says: {_clean(spec, error.message)}"
    return McpFailed(text) if is_call else SessionLost(text)


def _policy_failure(spec: ServerSpec, current: Exchange) -> ToolFailed | None:
    """Return the error of a request that the administrator's policy did not let out."""
    match current.problem:
        case "refused":
            return McpFailed(f"{server_label(spec.name)} was not reached. {current.detail}")
    return None


def _body_failure(spec: ServerSpec, current: Exchange, *, is_call: bool) -> ToolFailed | None:
    """Return the error of a request that was not sent, or whose response could not be read."""
    server, outcome_note = server_label(spec.name), NOT_REPEATED if is_call else ""
    match current.problem:
        case "unsent":
            return SessionLost(f"{server} cannot be reached: {current.detail}.", fix="Start it, or check its url.")
        case "login":
            fix = f'`servers["{spec.name}"].login()` asks you again, in a cell or a terminal.'
            return SessionLost(f"{server} needs a login: {current.detail}.".replace("..", "."), fix=fix)
        case "broken":
            return SessionLost(f"{server} closed the connection.{outcome_note}")
        case "too_large":
            return _too_large_error(spec, is_call=is_call)
        case "too_complex":
            return _too_complex_error(spec, is_call=is_call)
        case "too_many":
            return McpFailed(
                f"{server} sent more than {MAX_EVENTS:,} messages in one response; the rest was not read.{outcome_note}"
            )
        case "compressed":
            return McpFailed(f"{server} sent a compressed response, which the request did not accept.{outcome_note}")
    return None


def _status_failure(spec: ServerSpec, current: Exchange, *, is_call: bool) -> ToolFailed | None:
    """Return the error of an HTTP error response."""
    server, status = server_label(spec.name), current.status
    is_refused = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    if current.is_session_gone or (current.had_session and status == HTTPStatus.BAD_REQUEST and not is_call):
        fix = "The tool did not run. Call it again: a new session is started." if is_call else ""
        return SessionLost(f"{server} no longer knows this session ({status}).", fix=fix)
    if current.is_rpc_error and not is_refused:
        return McpFailed(f"{server} says: {current.detail}")
    if status >= HTTPStatus.BAD_REQUEST:
        problem, fix = describe_status(spec, current)
        return McpFailed(f"{server} {problem}", fix=fix)
    if status == HTTPStatus.OK and current.content_type not in _MESSAGES:
        kind = shorten(single_line(current.content_type), 60) or "without a content type"
        return McpFailed(f"{server} answered with {kind}, not with MCP.", fix="Check the path of its url.")
    return None


def _too_large_error(spec: ServerSpec, *, is_call: bool) -> McpFailed:
    size = f"more than {spec.limits.max_message} bytes"
    text = f"{server_label(spec.name)} sent a response of {size}, which was not read."
    return McpFailed(text, fix="The tool ran; ask it for less." if is_call else "Remove some tools at the server.")


def _too_complex_error(spec: ServerSpec, *, is_call: bool) -> McpFailed:
    text = (
        f"{server_label(spec.name)} answered with more than {stdio_messages.MAX_TOKENS} values or"
        f" {stdio_messages.MAX_NESTING} levels of them, which were not read."
    )
    return McpFailed(text, fix="The tool ran; ask it for less." if is_call else "Remove some tools at the server.")


def _unreadable_error(spec: ServerSpec, *, is_call: bool) -> McpFailed:
    return McpFailed(
        f"{server_label(spec.name)} sent a response that cannot be read, or that has not the id of the request."
        f"{NOT_REPEATED if is_call else ''}",
        fix="Check that it writes each JSON-RPC message as one line of UTF-8 to stdout, and its logs to stderr.",
    )


def parse_exit_report(stderr: TextIO) -> tuple[str, str]:
    """Parse the stdio process's report: how the server ended, and the last lines of its stderr."""
    stderr.seek(0)
    text = stderr.read()
    try:
        end = json.loads(text)
        status, report_text, problem = end["exit"], str(end["stderr"]), str(end["problem"])
    except (ValueError, KeyError, TypeError, RecursionError):  # the stdio process itself could not run
        status, report_text, problem = None, text, ""
    lines = [single_line(line) for line in report_text.splitlines() if line.strip()][-STDERR_LINES:]
    last = " / ".join(lines)[-MAX_STDERR_CHARS:]
    parts = [problem and f"{problem.rstrip('.')}.", f"The last lines of its stderr: {last}" if last else ""]
    return _exit_phrase(status), " ".join(part for part in parts if part)


def _exit_phrase(status: int | None) -> str:
    if status is None:
        return ""
    if status >= 0:
        return f" (exit status {status})"
    try:
        return f" (killed by {signal.Signals(-status).name})"
    except ValueError:  # pragma: no cover - an unnamed signal of this system
        return f" (killed by signal {-status})"


def _clean(spec: ServerSpec, text: str) -> str:
    return shorten(without_paths(spec.without_secrets(single_line(text))), MAX_MESSAGE_CHARS)
