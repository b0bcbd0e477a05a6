"""The official conformance suite, against a served notebook and against nbtool as a client."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from nbtool import Chat, tool
from nbtool.mcp_server.http_server import PATH
from nbtool.messages import Media
from tests.mcp_server.clients import ListView, serve
from tests.mcp_server.codex import CLIENTS, INSTALLED
from tests.mcp_server.conformance import CLIENT, PAGE, SERVER, page
from tests.mcp_server.programs import NODE, start
from tests.samples import PNG
from tests.tools.mcp.serving import http_server

PROGRAM = CLIENTS / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
OWN_CLIENT = Path(__file__).parent / "conformance_client.py"
SECONDS = 280

needs_suite = [
    pytest.mark.nightly,
    pytest.mark.timeout(300),  # each scenario starts Node anew
    pytest.mark.skipif(not INSTALLED.exists(), reason="`make lane LANE=mcp-clients` installs the suite."),
]


@tool(run="auto", name="test_simple_text")
def simple_text() -> str:
    """Return the text that the suite expects."""
    return "This is a simple text response for testing."


@tool(run="auto", name="test_image_content")
def image() -> Media:
    """Draw for the suite."""
    return Media("image/png", data=PNG)


@tool(run="auto", name="test_error_handling")
def failing() -> str:
    """Fail as the suite expects."""
    raise ValueError("This tool intentionally returns an error for testing")


def test_the_page_of_the_results_is_that_of_the_scenarios() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.mcp_server.conformance writes it."


class TestSuite:
    """The suite itself."""

    pytestmark = needs_suite

    def test_a_served_notebook_passes_what_it_offers(self) -> None:
        """The suite sends no token, so that it meets the server behind the check of access."""
        with (
            serve(lambda: Chat(tools=[simple_text, image, failing]), ListView(asks=False)) as server,
            http_server(lambda: server.handlers.server.streamable_http_app(streamable_http_path=PATH)) as opened,
        ):
            suite = start(NODE, PROGRAM, "server", "--url", opened.url, "--suite", "all")
            said, complaints = suite.communicate(timeout=SECONDS)

        rows = re.findall(r"(?m)^[✓✗] (\S+): \d+ passed, (\d+) failed", said)
        assert {name: failed == "0" for name, failed in rows} == {
            name: not reason for name, reason in SERVER.items()
        }, complaints

    @pytest.mark.parametrize("scenario", CLIENT)
    def test_nbtool_as_a_client_passes_what_it_offers(self, tmp_path: Path, scenario: str) -> None:
        command = f"{sys.executable} {OWN_CLIENT}"
        words = ("client", "--command", command, "--scenario", scenario, "--timeout", "120000")
        suite = start(NODE, PROGRAM, *words, NBTOOL_HOME=str(tmp_path))
        said, complaints = suite.communicate(timeout=SECONDS)

        assert (suite.returncode == 0) is not bool(CLIENT[scenario]), f"{said}\n{complaints}"
