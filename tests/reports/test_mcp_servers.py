"""Situations of public reports about servers of the Model Context Protocol that ask and announce, as they are here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool import Approved, Chat, Denied
from nbtool.testing import ScriptedWire, call
from nbtool.tools.mcp import McpServers, mcp_servers

SERVER = """
import json, sys
from pathlib import Path

plan, starts = json.loads(sys.argv[1]), Path(sys.argv[2])
starts.write_text(starts.read_text() + "started " if starts.exists() else "started ")
tools = [{"name": "use", "inputSchema": {"type": "object", "properties": {}}}]


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    said = json.loads(line)
    method, number = said.get("method"), said.get("id")
    if method == "initialize":
        info = {"name": "reported", "version": "1"}
        able = {"protocolVersion": "2025-06-18", "capabilities": plan["capabilities"]}
        say(id=number, result={**able, "serverInfo": info})
        for _ in range(plan.get("early", 0)):
            say(method="notifications/tools/list_changed")
    elif method == "tools/list":
        say(id=number, result={"tools": tools})
    elif method == "tools/call" and plan.get("adds"):
        tools.append({"name": "added", "inputSchema": {"type": "object", "properties": {}}})
        say(method="notifications/tools/list_changed")
        say(id=number, result={"content": [{"type": "text", "text": "added"}]})
    elif method == "tools/call" and "asks" in plan:
        say(id="form", method="elicitation/create", params={"message": "Please.", "requestedSchema": plan["asks"]})
        while "method" in (answer := json.loads(sys.stdin.readline())):
            pass
        say(id=number, result={"content": [{"type": "text", "text": json.dumps(answer["result"])}]})
    elif method == "tools/call":
        say(id=number, result={"content": [{"type": "text", "text": "done"}]})
    elif number is not None:
        say(id=number, result={})
"""
"""A server that does what its first argument says, and counts its starts in the file of the second."""

Start = Callable[..., McpServers]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[McpServers] = []
    program = tmp_path / "server.py"
    program.write_text(SERVER)

    def begin(capabilities: dict[str, Any] | None = None, **plan: Any) -> McpServers:
        plan["capabilities"] = {"tools": {"listChanged": True}} if capabilities is None else capabilities
        args = [str(program), json.dumps(plan), str(tmp_path / "starts")]
        config = {"mcpServers": {"lab": {"command": sys.executable, "args": args}}}
        started.append(mcp_servers(config, connect_seconds=20))
        return started[-1]

    yield begin
    for servers in started:
        servers.close()


def use(servers: McpServers, *answers: Any, name: str = "lab_use") -> list[Any]:
    """Return the records of a turn with one call; its forms get the answers in turn."""
    remaining = list(answers)
    wire = ScriptedWire([call(name), "Done."])
    chat = Chat(wire=wire, tools=[servers], approver=lambda one: remaining.pop(0) if one.is_form else Approved())
    return list(chat.send("Go").calls)


def value(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": schema}, "required": ["value"]}


def test_changes_that_are_announced_all_the_time_start_no_second_server(start: Start, tmp_path: Path) -> None:
    """browseros-ai/BrowserOS#1005: `list_changed` three times a second. Right: one session, used. Before: wrong."""
    servers = start(early=5)

    results = [use(servers)[0].result for _ in range(2)]

    assert results == ["done", "done"]
    assert (tmp_path / "starts").read_text() == "started "
    assert servers["lab"].notices == ()


def test_a_change_is_noticed_also_from_a_server_that_did_not_announce_that(start: Start) -> None:
    """google-gemini/gemini-cli#21050, maximhq/bifrost#6885: changes were not seen. Right: seen. Before: right."""
    servers = start({"tools": {}}, adds=True)

    use(servers)

    assert "lab_added" not in servers.tools()  # nothing is accepted by an announcement
    assert "added" in servers["lab"].pending_changes()
    servers["lab"].accept_changes()
    assert "lab_added" in servers.tools()


def test_a_question_in_the_middle_of_a_call_is_answered_and_not_dropped(start: Start) -> None:
    """agentforce314/clawcodex#526: `elicitation/create` was dropped, so calls hung. Right: answered. Before: right."""
    (used, form) = use(start(asks=value(type="string")), Denied("no"))

    assert json.loads(used.result) == {"action": "decline"}
    assert form.status == "denied"


@pytest.mark.parametrize(
    ("schema", "answer", "received"),
    [
        ({"type": "string", "title": "Value"}, "Ada", "Ada"),
        ({"type": "integer", "title": "Value"}, 5, 5),
        ({"type": "boolean"}, True, True),
        ({"type": "string", "enum": ["tea", "milk"]}, "tea", "tea"),
    ],
)
def test_a_single_value_is_a_form_of_one_field(start: Start, schema: Any, answer: Any, received: Any) -> None:
    """PrefectHQ/fastmcp#889: scalars and choices are wrapped as `value`. Right: filled in and sent. Before: right."""
    (used, form) = use(start(asks=value(**schema)), Approved({"value": answer}))

    assert json.loads(used.result) == {"action": "accept", "content": {"value": received}}
    assert form.status == "ok"


def test_a_form_without_fields_asks_for_consent(start: Start) -> None:
    """PrefectHQ/fastmcp#992: a form of no fields, to approve or not. Right: accept or decline. Before: right."""
    servers = start(asks={"type": "object", "properties": {}})

    (agreed, _), (refused, _) = use(servers, Approved()), use(servers, Denied("no"))

    assert json.loads(agreed.result)["action"] == "accept"
    assert json.loads(refused.result)["action"] == "decline"


def test_a_form_that_is_approved_unfilled_is_one_record_of_what_the_server_got(start: Start) -> None:
    """IBM/mcp-context-forge#1985: no way to see what became of a form. Right: declined, said once. Before: wrong."""
    records = use(start(asks=value(type="string")), *[Approved()] * 5)

    assert [record.status for record in records] == ["ok", "denied"]
    assert json.loads(records[0].result) == {"action": "decline"}
    assert "approved without what it asks for" in records[1].shown


@pytest.mark.parametrize("answer", [Approved(), Approved({}), Approved({"note": "soon"})])
def test_a_form_of_optional_fields_is_sent_with_what_was_filled_in_only(start: Start, answer: Approved) -> None:
    """assistant-ui/assistant-ui#5350: an open choice was sent as "", and refused. Right: left out. Before: right."""
    asks = {"type": "object", "properties": {"drink": {"enum": ["tea", "milk"]}, "note": {"type": "string"}}}
    (used, form) = use(start(asks=asks), answer)

    assert json.loads(used.result) == {"action": "accept", "content": answer.arguments or {}}
    assert form.status == "ok"
