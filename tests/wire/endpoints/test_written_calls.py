"""A call that a server left in the text of a reply to native tools: said, not run, and asked for again where known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtool import Chat, tool
from nbtool.chat.turn import Turn
from nbtool.wire.prompted.written_calls import DESCRIBED_INSTEAD, LEFT_IN_TEXT
from nbtool.wire.providers.catalog import BUILTIN
from nbtool.wire.providers.provider import WRITES_CALLS
from tests.chaos import DONE, Received, Step, event, finish, head, serve_by, serve_each, text
from tests.wire.process_state import clear_adaptations
from tests.wire.prompted.model_texts import HIDDEN, PROSE

RUNS: list[str] = []


@tool(run="auto")
def price(ticker: str) -> int:
    "Give a price."
    RUNS.append(ticker)
    return 7


@tool(run="auto")
def run_python(code: str) -> str:
    "Run code."
    return code


@tool(run="auto")
def read_file(path: str) -> str:
    "Read a file."
    return path


TOOLS = [price, run_python, read_file]
LEAKED = '<tool_call>\n{"name": "price", "arguments": {"ticker": "A"}}\n</tool_call>'


@pytest.fixture(autouse=True)
def no_adaptations() -> Iterator[None]:
    RUNS.clear()
    clear_adaptations()
    yield
    clear_adaptations()


def said(reply: str) -> list[Step]:
    return [head(), text(reply) + finish() + DONE]


def ask(reply: str, **more: Any) -> Turn:
    with serve_each(said(reply)) as server:
        turn = Chat("m", base_url=server.url, tools=TOOLS, **more).send("Go")
    assert len(server.requests) == 1
    return turn


def warnings(turn: Turn) -> list[str]:
    return [notice.text for notice in turn.notices if notice.level == "warning"]


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.parametrize("mode", ["native", "auto"])
@pytest.mark.parametrize("form", HIDDEN)
def test_a_call_in_the_text_is_reported_with_the_way_out(form: str, mode: Any) -> None:
    turn = ask(HIDDEN[form], tool_mode=mode)

    assert (turn.status, turn.calls, RUNS) == ("completed", [], [])
    assert turn.text.strip() == HIDDEN[form].strip()
    assert all("--set tool_mode=prompted" in notice for notice in warnings(turn))


@settings(max_examples=20)
@given(
    form=st.sampled_from(sorted(HIDDEN)),
    mode=st.sampled_from(["native", "auto"]),
    before=st.sampled_from(["", "Well.\n\n", "I look it up.\n"]),
    behind=st.sampled_from(["", "\n\nSo it is.", "\n"]),
)
def test_a_call_anywhere_in_the_text_does_not_run_and_stays_in_it(
    form: str, mode: Any, before: str, behind: str
) -> None:
    clear_adaptations()
    reply = f"{before}{HIDDEN[form]}{behind}"

    turn = ask(reply, tool_mode=mode)

    assert (turn.status, turn.calls, RUNS) == ("completed", [], [])
    assert turn.text.strip() == reply.strip()
    assert all("--set tool_mode=prompted" in notice for notice in warnings(turn))


@pytest.mark.sampled(0)
def test_most_forms_name_their_tool() -> None:
    named = [form for form in HIDDEN if warnings(ask(HIDDEN[form], tool_mode="native"))]

    assert len(named) >= 0.9 * len(HIDDEN)


@pytest.mark.parametrize("form", PROSE)
def test_prose_about_tools_is_no_call(form: str) -> None:
    assert warnings(ask(PROSE[form], tool_mode="native")) == []


@pytest.mark.parametrize("provider", [name for name, row in BUILTIN.items() if WRITES_CALLS in row.abilities])
def test_where_the_provider_is_known_for_it_the_model_is_asked_again(provider: str) -> None:
    def answer(request: Received) -> list[Step]:
        if request.json.get("tools"):
            return said(LEAKED)
        words = str(request.json["messages"])
        if "<tool_result" in words and "7" in words.rpartition("<tool_result")[2][:80]:
            return said("It costs 7.")
        fence = words.partition("```call-")[2][:8]
        return said(f'```call-{fence}\n{{"name": "price", "arguments": {{"ticker": "A"}}}}\n```')

    with serve_by(answer) as server:
        turn = Chat(f"{provider}:m", base_url=f"{server.url}/v1", api_key="k", tools=[price]).send("Go")

    assert (turn.status, turn.text, RUNS) == ("completed", "It costs 7.", ["A"])
    assert DESCRIBED_INSTEAD.format(name="price") in warnings(turn)
    assert [bool(request.json.get("tools")) for request in server.requests] == [True, False, False]


def test_tools_that_have_to_be_native_stay_so() -> None:
    with serve_each(said(LEAKED)) as server:
        chat = Chat("vllm:m", base_url=f"{server.url}/v1", api_key="k", tools=[price], tool_mode="native")
        turn = chat.send("Go")

    assert warnings(turn) == [LEFT_IN_TEXT.format(name="price")]
    assert len(server.requests) == 1


def test_beside_a_native_call_its_mention_is_none() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "price", "arguments": '{"ticker": "A"}'}}
    first = [head(), text(LEAKED), event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}), finish(), DONE]
    with serve_each(first, said("It costs 7.")) as server:
        turn = Chat("m", base_url=server.url, tools=TOOLS).send("Go")

    assert (turn.text, warnings(turn)) == ("It costs 7.", [])
