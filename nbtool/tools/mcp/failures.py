"""What went wrong with a server → one error of ours: what happened, what is unknown of a call, and what to do."""

from __future__ import annotations

import json
import signal
from http import HTTPStatus
from typing import TextIO

from mcp import MCPError
from mcp.types import CONNECTION_CLOSED

from nbtool.errors import McpFailed, ToolFailed
from nbtool.shorten import shorten
from nbtool.tools.mcp import supervisor
from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.errors import SessionLost
from nbtool.tools.mcp.http import MAX_EVENTS, Exchange, describe_status
from nbtool.tools.mcp.tool_list import called
from nbtool.tools.values.render import error_text
from nbtool.tools.values.sanitize import visible

MAX_WORDS = 2_000
"""Characters of a server's own words in an error."""

LAST_LINES = 3
"""Lines of the end of a server's stderr that an error tells."""

MAX_LAST_WORDS = 500
"""Characters of them."""

NOT_REPEATED = " It is not known whether the tool ran, and the call was not repeated."

_MESSAGES = ("application/json", "text/event-stream")


def failure_of(error: BaseException, spec: ServerSpec, noted: Exchange, stderr: TextIO, *, is_call: bool) -> ToolFailed:
    """Make an error, new each time; `is_call` says that a tool may have run. A `SessionLost` ends the session."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ToolFailed):
        return error
    who, unknown = called(spec.name), NOT_REPEATED if is_call else ""
    failure = _of_body(spec, noted, is_call=is_call) or _of_status(spec, noted, is_call=is_call)
    if failure:
        return failure
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return _closed(error, spec, noted, stderr, is_call=is_call)
    if isinstance(error, MCPError):
        if unread := {supervisor.TOO_LARGE: _too_large, supervisor.TOO_COMPLEX: _too_complex}.get(str(error.data)):
            return unread(who, is_call=is_call)
        return McpFailed(f"{who} says: {_clean(spec, error.message)}")
    if str(error):
        return McpFailed(f"{who} failed: {_clean(spec, error_text(error))}")
    how, last_words = read_end(stderr)
    return SessionLost(f"{who} has ended{how}.{unknown}", fix=_clean(spec, last_words))


def _closed(error: MCPError, spec: ServerSpec, noted: Exchange, stderr: TextIO, *, is_call: bool) -> ToolFailed:
    """Tell an end of the connection from an error of the server, for both have the same code."""
    who, unknown = called(spec.name), NOT_REPEATED if is_call else ""
    if spec.url:
        is_over = not noted.status or (noted.is_stream and noted.is_at_end)
        text = f"{who} broke off its answer.{unknown}" if is_over else f"{who} says: {_clean(spec, error.message)}"
        return McpFailed(text) if is_call else SessionLost(text)
    how, last_words = read_end(stderr)
    if how or last_words:
        return SessionLost(f"{who} has ended{how}.{unknown}", fix=_clean(spec, last_words))
    text = f"{who} says: {_clean(spec, error.message)}"
    return McpFailed(text) if is_call else SessionLost(text)


def _of_body(spec: ServerSpec, noted: Exchange, *, is_call: bool) -> ToolFailed | None:
    """Make the error of a request that was not sent, or whose answer could not be read."""
    who, unknown = called(spec.name), NOT_REPEATED if is_call else ""
    match noted.problem:
        case "unsent":
            return SessionLost(f"{who} cannot be reached: {noted.detail}.", fix="Start it, or check its url.")
        case "broken":
            return SessionLost(f"{who} broke off the connection.{unknown}")
        case "too_large":
            return _too_large(who, is_call=is_call)
        case "too_complex":
            return _too_complex(who, is_call=is_call)
        case "too_many":
            return McpFailed(
                f"{who} sent more than {MAX_EVENTS:,} messages in one answer and was not read on.{unknown}"
            )
        case "compressed":
            return McpFailed(f"{who} sent a compressed answer, though it was asked not to.{unknown}")
    return None


def _of_status(spec: ServerSpec, noted: Exchange, *, is_call: bool) -> ToolFailed | None:
    """Make the error of an answer that HTTP itself says is none."""
    who, status = called(spec.name), noted.status
    is_refused = status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    if noted.is_session_gone or (noted.had_session and status == HTTPStatus.BAD_REQUEST and not is_call):
        fix = "The tool did not run. Call it again: a new session is started." if is_call else ""
        return SessionLost(f"{who} no longer knows this session ({status}).", fix=fix)
    if noted.is_rpc_error and not is_refused:
        return McpFailed(f"{who} says: {noted.detail}")
    if status >= HTTPStatus.BAD_REQUEST:
        what, fix = describe_status(spec, noted)
        return McpFailed(f"{who} {what}", fix=fix)
    if status == HTTPStatus.OK and noted.content_type not in _MESSAGES:
        kind = shorten(visible(noted.content_type), 60) or "no content type"
        return McpFailed(f"{who} answered with {kind}, not with MCP.", fix="Check the path of its url.")
    return None


def _too_large(who: str, *, is_call: bool) -> McpFailed:
    text = f"{who} answered with more than {supervisor.MAX_MESSAGE} bytes, which were not read."
    return McpFailed(text, fix="The tool ran; ask it for less." if is_call else "Take some tools away at the server.")


def _too_complex(who: str, *, is_call: bool) -> McpFailed:
    text = (
        f"{who} answered with more than {supervisor.MAX_TOKENS} values or {supervisor.MAX_NESTING} levels of them,"
        " which were not read."
    )
    return McpFailed(text, fix="The tool ran; ask it for less." if is_call else "Take some tools away at the server.")


def read_end(stderr: TextIO) -> tuple[str, str]:
    """Read how a server ended, and the last lines of its stderr; its supervisor wrote both down."""
    stderr.seek(0)
    text = stderr.read()
    try:
        end = json.loads(text)
        status, words, problem = end["exit"], str(end["stderr"]), str(end["problem"])
    except (ValueError, KeyError, TypeError):  # the supervisor itself could not be run
        status, words, problem = None, text, ""
    lines = [visible(line) for line in words.splitlines() if line.strip()][-LAST_LINES:]
    last = " / ".join(lines)[-MAX_LAST_WORDS:]
    parts = [problem and f"{problem.rstrip('.')}.", f"The last lines of its stderr: {last}" if last else ""]
    return _how(status), " ".join(part for part in parts if part)


def _how(status: int | None) -> str:
    if status is None:
        return ""
    if status >= 0:
        return f" (exit status {status})"
    try:
        return f" (killed by {signal.Signals(-status).name})"
    except ValueError:  # pragma: no cover - a signal that this system has no name for
        return f" (killed by signal {-status})"


def _clean(spec: ServerSpec, text: str) -> str:
    return shorten(spec.without_secrets(visible(text)), MAX_WORDS)
