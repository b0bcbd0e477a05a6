"""Errors of MCP servers that say little: a status without a name, and a report that is none."""

from __future__ import annotations

import io

from nbtool.tools.mcp.config import ServerSpec
from nbtool.tools.mcp.failures import parse_exit_report
from nbtool.tools.mcp.http import Exchange, describe_status
from nbtool.tools.mcp.stdio_process import report


def test_a_status_without_a_name_is_shown_by_its_number() -> None:
    problem, _ = describe_status(ServerSpec("lab", url="http://127.0.0.1:9"), Exchange(status=599, detail="down"))

    assert problem == "answered 599: down."


def test_the_report_of_an_ended_server_is_read_back() -> None:
    written = report(3, b"first\nlast \xff\n", "It wrote too much.")

    phrase, text = parse_exit_report(io.StringIO(written))
    assert phrase == " (exit status 3)"
    assert text == "It wrote too much. The last lines of its stderr: first / last \ufffd"


def test_a_report_that_is_none_is_shown_as_the_stderr_that_it_is() -> None:
    assert parse_exit_report(io.StringIO("Traceback\nImportError: mcp\n")) == (
        "",
        "The last lines of its stderr: Traceback / ImportError: mcp",
    )
