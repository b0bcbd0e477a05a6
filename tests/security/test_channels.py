"""What a turn writes or sends beside the requests to its model: nothing that was withheld, shown only, or secret."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nbtool import Approved, Chat, Progress, Released, Withheld, tool
from nbtool.audience import AUDIENCES, Audience, for_audience
from nbtool.chat.subchat import subchat
from nbtool.chat.turn import Turn
from nbtool.messages import Media
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedApprover, ScriptedWire, call
from nbtool.tools.approval import Decision
from nbtool.tools.script.tool import script_tools
from nbtool.tools.tool import Tool, as_tools
from nbtool.wire.framing.known_secrets import hide_secrets
from tests.chaos import DONE, head, serve_each
from tests.mcp_server.clients import ListView, connect, serve, texts
from tests.policy.in_force import policy_in_force
from tests.security.canaries import TYPES, Marker
from tests.security.model import _stream_reply
from tests.security.sinks import Sinks, found_in, person_log
from tests.security.test_audiences import SHARED, written

pytestmark = pytest.mark.timeout(240)  # the first export of a notebook compiles the grammars of its schema

OUTPUT, RESULT, INNER = "canary-output", "canary-result", "canary-inner"
KEY = 'sk-live-"AbCd/Ef+Gh=0123456789'
"""A key with what JSON, addresses and HTML escape."""


@tool(run="auto", result="always", name="report")
def gated(n: int) -> Any:
    """Read a report, and say how far it is."""
    yield Progress(f"row {n}: {OUTPUT}", 0.5)
    return f"{RESULT} {n}"


@tool(run="auto", name="lookup")
def ungated(n: int) -> Any:
    """Read a report, and say how far it is."""
    yield Progress(f"row {n}: {OUTPUT}", 0.5)
    return f"{RESULT} {n}"


def always(one: Tool) -> Tool:
    """Return a tool whose results ask."""
    return replace(one, policy=replace(one.policy, result="always"))


def turn_of(chat: Chat) -> Turn:
    turn = chat.send("Go.")
    assert turn.status == "completed", turn.error
    return turn


# --- withheld -----------------------------------------------------------------------------------------------------


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("decision", [Withheld("private"), Released("a part")], ids=["withheld", "edited"])
@pytest.mark.parametrize("checks", [False, True], ids=["by the tool", "by the chat"])
def test_what_a_call_printed_goes_with_its_result_everywhere(decision: Decision, checks: bool, tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    function = ungated if checks else gated
    wire = ScriptedWire([call("lookup" if checks else "report", n=1), "Done."])
    approver = ScriptedApprover([decision])
    chat = Chat(wire=wire, tools=[function], plugins=sinks.plugins(), approver=approver, check_results=checks)
    turn = turn_of(sinks.watch(chat))

    assert OUTPUT in person_log(turn)
    assert found_in(sinks.of(chat, turn), OUTPUT, RESULT) == []


@pytest.mark.promise("withheld")
def test_what_a_released_call_printed_is_in_its_history_and_exports(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    chat = Chat(
        wire=ScriptedWire([call("report", n=1), "Done."]), tools=[gated], plugins=sinks.plugins(),
        approver=ScriptedApprover([Released()]),
    )  # fmt: skip
    turn = turn_of(sinks.watch(chat))
    where = {place for place, _ in found_in(sinks.of(chat, turn), OUTPUT)}

    assert {"journal", "export json", "export md", "export ipynb", "saved notebook", "explorer"} <= where
    assert where.isdisjoint({"event log", "spans"})  # they were written before it was released


@pytest.mark.promise("withheld")
def test_what_calls_inside_a_withheld_call_take_and_return_goes_with_it(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)

    @tool(run="auto")
    def inner(text: str) -> Any:
        """Take and return."""
        yield Progress(f"{OUTPUT} {text}")
        return f"{RESULT} {text}"

    script = 'inner(inner("canary-" + "inner"))'
    wire = ScriptedWire([call("RunScript", script=script), "Done."])
    approver = ScriptedApprover([Approved(), Withheld("private")])
    guarded = [always(one) for one in script_tools().tools().values()]
    chat = Chat(wire=wire, tools=[inner, *guarded], plugins=sinks.plugins(), approver=approver)
    turn = turn_of(sinks.watch(chat))

    assert [record.status for record in turn.calls if record.name == "inner"] == ["ok", "ok"]
    assert INNER in person_log(turn)
    assert found_in(sinks.of(chat, turn), OUTPUT, RESULT, INNER) == []


@pytest.mark.promise("withheld")
def test_a_subchat_inside_a_withheld_call_writes_no_content_to_logs_and_spans(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    expert = Chat(wire=ScriptedWire([call("lookup", n=2), f"{INNER}: the answer"]))
    ask = always(subchat(expert, tools=[ungated]))
    chat = Chat(
        wire=ScriptedWire([call("ask", question="What?"), "Done."]), tools=[ask], plugins=sinks.plugins(),
        approver=ScriptedApprover([Withheld("private")]),
    )  # fmt: skip
    turn = turn_of(sinks.watch(chat))

    assert RESULT in person_log(turn)
    assert found_in(sinks.of(chat, turn), OUTPUT, RESULT, INNER) == []


@pytest.mark.promise("policy-values")
def test_under_a_policy_what_a_call_printed_is_in_no_file_and_no_span(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        chat = Chat(wire=ScriptedWire([call("lookup", n=1), "Done."]), tools=[ungated], plugins=sinks.plugins())
        turn = turn_of(sinks.watch(chat))
        sinks_after = sinks.of(chat, turn)

    assert OUTPUT in person_log(turn)
    assert found_in(sinks_after, OUTPUT, RESULT) == []


# --- a client of a served notebook --------------------------------------------------------------------------------


def progress_of(make_chat: Any, name: str, view: ListView | None = None, **arguments: Any) -> tuple[list[Any], Any]:
    """Call a tool of a served chat; return what its progress said, and its result."""
    received: list[Any] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        received.append((done, total, message))

    async def use() -> Any:
        with serve(make_chat, view) as server:
            async with connect(server) as session:
                return await session.call_tool(name, arguments, progress_callback=note)

    return received, asyncio.run(use())


def withhold(decision: Decision) -> ListView:
    view = ListView()

    def on_show(_: Turn, chat: Chat) -> None:
        def decide(change: Any) -> None:
            if change.kind == "asked":
                threading.Thread(
                    target=lambda: chat.approvals.decide(change.question.digest, decision, by="button")
                ).start()

        chat.approvals.add_listener(decide)

    view.on_show = on_show
    return view


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("decision", [Withheld("private"), Released("a part"), Released()])
def test_a_client_gets_the_fraction_only_of_a_call_whose_result_may_be_withheld(decision: Decision) -> None:
    received, result = progress_of(lambda: Chat(tools=[gated]), "report", withhold(decision), n=1)

    assert received == [(0.5, 1.0, None)]
    assert OUTPUT not in str(result)


@pytest.mark.promise("policy-values")
def test_a_client_gets_the_fraction_only_where_no_values_may_leave(tmp_path: Path) -> None:
    with policy_in_force(tmp_path, "[values]\nmay_leave = false"):
        received, result = progress_of(lambda: Chat(tools=[ungated]), "lookup", n=1)

    assert received == [(0.5, 1.0, None)]
    assert OUTPUT not in f"{result}"
    assert RESULT not in f"{result}"


@pytest.mark.promise("masked")
def test_progress_for_a_client_is_masked_as_its_result_is() -> None:
    @tool(run="auto")
    def find(n: int) -> Any:
        """Find an address."""
        yield Progress("writing to ada@example.org", 0.5)
        return f"{n}: ada@example.org"

    received, result = progress_of(lambda: Chat(tools=[find], plugins=[Privacy(["email"])]), "find", n=1)

    assert "ada@example.org" not in f"{received} {texts(result)}"
    assert "__MASK_EMAIL_1__" in f"{received}"


# --- shown only ---------------------------------------------------------------------------------------------------


@pytest.mark.promise("by-reference")
def test_rows_and_effects_that_are_shown_only_are_in_no_file_and_no_span(tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)

    @tool
    def count(frame: Any) -> int:
        """Count rows."""
        return len(frame)

    changing = replace(as_tools(count)[0], preview_effect=lambda frame: f"{len(frame)} rows like canary-effect")
    wire = ScriptedWire([call("count", frame="$VAR_REF{{df}}"), "Done."])
    chat = Chat(wire=wire, tools=[changing], plugins=sinks.plugins(), approver=ScriptedApprover([Approved()]))
    chat.expose(read=True, df=pd.DataFrame({"who": ["canary-row"]}))
    turn = turn_of(sinks.watch(chat))

    assert "canary-row" in person_log(turn)
    assert "canary-effect" in person_log(turn)
    assert found_in(sinks.of(chat, turn), "canary-row", "canary-effect") == []


# --- known secrets ------------------------------------------------------------------------------------------------


@contextmanager
def chat_with_key(*replies: Any, **options: Any) -> Iterator[Chat]:
    """Give a chat with a real endpoint on loopback, which uses the key."""
    with serve_each(*([head(), *_stream_reply(reply), DONE] for reply in replies)) as server:
        yield Chat("openai:m", base_url=server.url, api_key=KEY, wire="chat", **options)


def forms(key: str) -> list[str]:
    """Return how a file may spell a key."""
    quoted = json.dumps(key)[1:-1]
    return [key, quoted, json.dumps(quoted)[1:-1], base64.b64encode(key.encode()).decode().rstrip("=")[:-2]]


RETURNED: dict[str, Any] = {
    **{name: {name: KEY, "n": 1} for name in (
        "id", "name", "host", "status", "kind", "by", "level", "role", "digest", "call_id", "mime", "reference",
        "topic", "phase", "gate", "verdict", "stop_reason", "end_reason", "error_phase", "token",
    )},
    "a key": {KEY: 1},
    "like a medium": {"kind": "media", "mime": "image/png", "data": KEY},
    "deep": {"rows": [{"kind": "text", "id": [KEY]}]},
    "json in a text": {"body": json.dumps({"id": KEY})},
    "a text": f"The key is {KEY}.",
    "a medium": Media("text/plain", KEY.encode(), name="key.txt"),
    "a medium of json": Media("application/json", json.dumps({"id": KEY}).encode(), name="key.json"),
}  # fmt: skip
"""Results with a key, by where it is."""


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("place", RETURNED)
def test_a_key_that_a_tool_returns_is_in_no_file_and_no_span(place: str, tmp_path: Path) -> None:
    sinks = Sinks(tmp_path)

    @tool(run="auto")
    def account(note: str) -> Any:
        """The account."""
        yield Progress(f"{note} {KEY}")
        return RETURNED[place]

    with chat_with_key(call("account", note=KEY), f"It is {KEY}.", tools=[account], plugins=sinks.plugins()) as chat:
        turn = turn_of(sinks.watch(chat))

    places = sinks.of(chat, turn)
    assert KEY in person_log(turn)
    assert all(places[one] for one in ("journal", "recording", "event log", "spans", "export md"))
    assert found_in(places, *forms(KEY)) == []


@pytest.mark.promise("no-secret-told")
def test_a_key_in_progress_and_result_does_not_reach_a_client() -> None:
    @tool(run="auto")
    def account() -> Any:
        """The account."""
        yield Progress(f"using {KEY}", 0.5)
        return {"id": KEY}

    with chat_with_key("Hi.") as other:
        turn_of(other)
        received, result = progress_of(lambda: Chat(tools=[account]), "account")

    assert len(received) == 1
    assert found_in({"progress": f"{received}", "result": f"{result}"}, *forms(KEY)) == []


@pytest.mark.promise("no-secret-told")
@pytest.mark.parametrize("audience", SHARED)
def test_a_key_in_any_content_of_any_event_is_hidden_for_every_audience(audience: Audience) -> None:
    with chat_with_key("Hi.") as chat:
        turn_of(chat)
    found: list[str] = []
    seen = 0
    for kind in TYPES:
        for spelled in (
            KEY,
            json.dumps({"id": [KEY]}),
            json.dumps({KEY: 5}),
            f"data:;base64,{base64.b64encode(KEY.encode()).decode()}",
        ):
            marker = Marker(lambda around, spelled=spelled: spelled if around[-1] not in ("own", "run") else "c1")
            out = written(for_audience(marker.make(kind), audience, hide=hide_secrets))
            seen += len(marker.places)
            found += [f"{kind.__name__}: {spelled}" for form in forms(KEY) if form in out]

    assert found == []
    assert seen > 1_000


def test_every_audience_is_tried() -> None:
    assert {*SHARED, "person"} == set(AUDIENCES)
