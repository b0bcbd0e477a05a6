"""Situations of public reports in which a value of a wrong type was taken, or ignored, and what is right here."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from nbtool import Approved, Chat, Toolset, tool
from nbtool.errors import BadUsage
from nbtool.plugins import Privacy
from nbtool.testing import ScriptedWire, call
from nbtool.tools.approval import Question


def paying() -> tuple[Any, list[int]]:
    paid: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    return pay, paid


def test_a_decision_of_none_runs_nothing() -> None:
    """pydantic/pydantic-ai#8060: a host writes None as the decision on a call that requires approval, and it runs.
    Right: only an approval runs a call: it is denied, and the turn ends. Before: wrong."""
    pay, paid = paying()
    chat = Chat(wire=ScriptedWire([call("pay", amount=1), "Ok."]), tools=[pay])
    chat.approver = lambda _: None  # type: ignore[assignment, return-value]  # the situation

    turn = chat.send("Go.")

    assert (turn.calls[0].status, paid) == ("denied", [])


def test_an_approver_without_a_return_after_its_time_limit_denies() -> None:
    """NousResearch/hermes-agent#603: the callback breaks out of its loop at the time limit and returns nothing. Right:
    denied, as nobody approved, and the turn goes on. Before: wrong."""
    pay, paid = paying()

    def ask(question: Question) -> Any:
        while question:
            break

    turn = Chat(wire=ScriptedWire([call("pay", amount=1), "Ok."]), tools=[pay], approver=ask).send("Go.")

    assert (turn.calls[0].status, paid, turn.text) == ("denied", [], "Ok.")
    assert "The approver" in turn.notices[0].text


def test_a_custom_tool_does_not_replace_the_one_of_a_server() -> None:
    """strands-agents/harness-sdk#715: an own tool named as one of a server's toolset replaces it without a word. Right:
    refused, with both names and the fix. Before: right."""

    @tool
    def list_principles() -> str:
        """Ours."""
        return "ours"

    def theirs() -> str:
        """Theirs."""
        return "theirs"

    server = Toolset("server", [tool(theirs, name="list_principles")])

    with pytest.raises(BadUsage, match="Two tools are named 'list_principles'"):
        Chat(tools=[list_principles, server])


def test_three_tools_of_one_name_are_not_cut_to_the_last() -> None:
    """strands-agents/harness-sdk#562: three functions of one name in a list, and the agent has the last one only.
    Right: refused. Before: wrong."""

    def make(service: str) -> Any:
        def get_item() -> str:
            """Get an item."""
            return service

        return get_item

    with pytest.raises(BadUsage, match="Two tools are named 'get_item'"):
        Chat(tools=[make("a"), make("b"), make("c")])


def test_a_tool_that_writes_does_not_replace_a_preview_of_another_server() -> None:
    """langchain-ai/langgraph#7988: of two servers with `create_item` the later one, which writes, replaces the preview.
    Right: refused when the list is given, not when a call is dispatched. Before: right."""

    def of(server: str) -> Toolset:
        return Toolset(server, [tool(lambda: server, name="create_item")])

    with pytest.raises(BadUsage, match="Two tools are named 'create_item'"):
        Chat(tools=[of("catalog"), of("workflow")])
    assert set(Chat(tools=[of("catalog"), of("workflow").prefixed("workflow_")]).tools.tools()) == {
        "create_item",
        "workflow_create_item",
    }


def test_a_reader_without_a_limit_does_not_replace_the_bounded_one() -> None:
    """amd/gaia#3506: parts of an agent register `read_file`, and the last one has no limit of size. Right: refused.
    Before: right."""

    class Bounded:
        def read_file(self, path: str) -> str:
            """Read at most a megabyte."""
            return path[:1]

    class Unbounded:
        def read_file(self, path: str) -> str:
            """Read."""
            return path

    with pytest.raises(BadUsage, match="Two tools are named 'read_file'"):
        Chat(tools=[Bounded, Unbounded])


def test_a_duplicate_is_not_dropped_without_a_word() -> None:
    """agno-agi/agno#7829: a tool whose name is taken was dropped silently, and later with a line in a log. Right: an
    error, also where a toolset is filled later; the same tool twice is none. Before: wrong."""
    pay, _ = paying()
    other, _ = paying()
    tools = Toolset("bank")
    tools.add(pay, pay)

    with pytest.raises(BadUsage, match="Two tools are named 'pay'"):
        Toolset("bank", [pay, other])
    assert set(tools.tools()) == {"pay"}


def test_a_misspelt_option_is_no_wildcard() -> None:
    """corydolphin/flask-cors#324: `rigins=[…]` is ignored, and every origin is allowed. Right: an option that does not
    exist is refused, of a constructor, a map and an attribute. Before: wrong."""
    chat = Chat(wire=ScriptedWire([]))

    with pytest.raises(BadUsage, match="no argument 'plugin'"):
        Chat(plugin=[Privacy()])  # type: ignore[call-arg]  # the situation
    with pytest.raises(BadUsage, match="no option 'aprover'"):
        chat.map(["Go."], aprover=lambda _: Approved())
    with pytest.raises(BadUsage, match="Did you mean approver"):
        chat.aprover = lambda _: Approved()  # type: ignore[attr-defined]  # the situation


def test_a_typo_in_a_keyword_of_a_rerun_is_caught() -> None:
    """phoebe-project/phoebe2#99: arguments that do not exist are taken, and have no effect. Right: refused. Before:
    right."""
    chat = Chat(wire=ScriptedWire(["Hi.", "Hi."]))
    chat.send("Hello.")

    with pytest.raises(BadUsage, match="no argument 'optoins'"):
        chat.rerun(optoins={"temperature": 0})


def test_a_name_that_a_record_does_not_have_is_refused_and_not_dropped() -> None:
    """modelcontextprotocol/python-sdk#3067, langflow-ai/langflow#12601: pydantic drops the names that a model of
    arguments does not declare, and the call succeeds with defaults, or without its data. Right: nothing runs, and the
    model reads which name is not expected, in nested records too. Before: wrong."""
    sent: list[Any] = []

    class Body(TypedDict, total=False):
        param: str

    @tool(run="auto")
    def post(url: str, data: Body) -> str:
        """Post."""
        sent.append((url, data))
        return "Posted."

    wrong = call("post", url="https://example.org", data={"name": "Ada"})
    right = call("post", url="https://example.org", data={"param": "Ada"})
    turn = Chat(wire=ScriptedWire([wrong, right, "Ok."]), tools=[post]).send("Post it.")

    assert sent == [("https://example.org", {"param": "Ada"})]
    assert [made.status for made in turn.calls] == ["invalid", "ok"]
    assert "'data'['name']" in turn.calls[0].shown
