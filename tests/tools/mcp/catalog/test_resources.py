"""Resources of a server: what it lists, and what results of its tools link to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtool import Approved, Denied
from nbtool.errors import BadUsage, McpFailed
from nbtool.messages import Media
from nbtool.tools.approval import Question
from nbtool.tools.mcp import McpServer, mcp_servers
from nbtool.tools.mcp.catalog.resources import RemoteResource
from tests.tools.calling import ask_for, make_harness

SERVER = Path(__file__).parents[1] / "prompting_server.py"
NOTES = "all is well"
"""What the server has at lab://notes."""


@pytest.fixture(scope="module")
def lab() -> Iterator[McpServer]:
    with mcp_servers({"mcpServers": {"lab": {"command": sys.executable, "args": [str(SERVER)]}}}) as servers:
        yield servers["lab"]


def test_the_resources_of_a_server_are_listed_and_read(lab: McpServer) -> None:
    notes, pixel = lab.resources()

    assert notes == RemoteResource("lab", "lab://notes", "notes", "The notes.", "text/plain")
    assert lab.read_resource(notes) == lab.read_resource(notes.uri) == NOTES
    assert lab.read_resource(pixel) == Media("image/gif", b"GIF89a", name="lab://pixel")


def test_a_resource_that_the_server_does_not_have_is_an_error(lab: McpServer) -> None:
    with pytest.raises(McpFailed, match="says"):
        lab.read_resource("lab://nothing")


OTHER = RemoteResource("web", "lab://notes", "notes")


def test_a_resource_of_another_server_is_not_read(lab: McpServer) -> None:
    with pytest.raises(BadUsage, match=r"'lab' does not have .*, which is of the server 'web'"):
        lab.read_resource(OTHER)


def test_a_model_hands_a_link_on_by_reference_and_the_tool_reads_it(lab: McpServer) -> None:
    asked: list[Question] = []

    def approve(question: Question) -> Approved:
        asked.append(question)
        return Approved()

    harness = make_harness(lab, lab.resource_tool(), approver=approve)

    found = harness.run(ask_for("lab_find", name="notes"))
    read = harness.run(ask_for("lab_read_resource", resource=f"$VAR_REF{{{{{found.reference}}}}}"))

    assert isinstance(found.result, RemoteResource)
    assert "[notes: lab://notes]" in found.shown
    assert read.shown == NOTES
    assert [question.display_name for question in asked] == ["lab.find", "lab.read_resource"]


def test_a_model_reads_an_address_only_if_the_call_is_approved(lab: McpServer) -> None:
    call = ask_for("lab_read_resource", resource="lab://notes")

    denied = make_harness(lab.resource_tool(), approver=lambda _: Denied()).run(call)
    approved = make_harness(lab.resource_tool(), approver=lambda _: Approved()).run(call)

    assert (denied.status, approved.shown) == ("denied", NOTES)


def test_the_tool_does_not_read_the_link_of_another_server(lab: McpServer) -> None:
    harness = make_harness(lab.resource_tool(), approver=lambda _: Approved(), notebook={"link": OTHER})
    harness.runtime.variables.expose("link", readable=True)

    record = harness.run(ask_for("lab_read_resource", resource="$VAR_REF{{link}}"))

    assert record.status == "error"
    assert "'web'" in record.shown
