"""Two different tools of one name in one list are refused; the same tool twice, and a redefinition later, are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from nbtool import Chat, Policy, Tool, Toolset, tool
from nbtool.chat.subchat import subchat
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire
from nbtool.tools.tool import as_tools
from nbtool.toolsets import files, inspection


class Database:
    """A database."""

    def __init__(self, name: str) -> None:
        self.name = name

    def query(self, text: str) -> str:
        """Query."""
        return f"{self.name}: {text}"


prod, test = Database("prod"), Database("test")


def make(name: str) -> Callable[[str], str]:
    def query(text: str) -> str:
        """Query."""
        return f"{name}: {text}"

    return query


def make_with_default(name: str) -> Callable[[str], str]:
    def query(text: str, _name: object = name) -> str:
        """Query."""
        return f"{_name}: {text}"

    return query


def query(text: str) -> str:
    """Query."""
    return text


def named(function: Any) -> Tool:
    return as_tools(tool(function, name="query"))[0]


DIFFERENT: dict[str, Callable[[], list[Any]]] = {
    "methods of two objects": lambda: [prod.query, test.query],
    "two objects": lambda: [prod, test],
    "an object and a method of another": lambda: [prod, test.query],
    "a class and an object": lambda: [type("Other", (), {"query": Database.query}), prod],
    "closures of one factory": lambda: [make("prod"), make("test")],
    "functions with another default": lambda: [make_with_default("prod"), make_with_default("test")],
    "a function and its redefinition": lambda: [make("one"), query],
    "a function and a method": lambda: [query, prod.query],
    "partials": lambda: [tool(partial(query, "a"), name="query"), tool(partial(query, "b"), name="query")],
    "one function with two policies": lambda: [query, tool(query, run="auto")],
    "functions renamed alike": lambda: [tool(make("a"), name="ask"), tool(query, name="ask")],
    "tools": lambda: [named(make("a")), named(make("b"))],
    "a function and a member of a toolset": lambda: [query, Toolset("bank", [prod])],
    "a member of a toolset and a function": lambda: [Toolset("bank", [prod]), query],
    "two toolsets": lambda: [Toolset("a", [prod]), Toolset("b", [test])],
    "two toolsets of one name": lambda: [Toolset("bank", [prod]), Toolset("bank", [test])],
    "two toolsets without a name": lambda: [Toolset(tools=[prod]), Toolset(tools=[test])],
    "two policies of one toolset": lambda: [
        Toolset("bank", [prod]), Toolset("bank", [prod]).approved(Policy("auto"))
    ],
    "a toolset in a toolset": lambda: [Toolset("outer", [Toolset("bank", [prod])]), test.query],
    "two folders": lambda: [files("."), files("tests")],
}  # fmt: skip

GIVE: dict[str, Callable[[list[Any]], object]] = {
    "Chat": lambda tools: Chat(wire=ScriptedWire([]), tools=tools),
    "Toolset": lambda tools: Toolset("all", tools),
    "Toolset.add": lambda tools: Toolset("all").add(*tools),
    "map": lambda tools: Chat(wire=ScriptedWire([])).map(["Go."], tools=tools),
    "start_map": lambda tools: Chat(wire=ScriptedWire([])).start_map(["Go."], tools=tools),
    "subchat": lambda tools: subchat(tools=tools),
}


@pytest.mark.parametrize("give", GIVE.values(), ids=GIVE)
@pytest.mark.parametrize("tools", DIFFERENT.values(), ids=DIFFERENT)
def test_two_different_tools_of_one_name_are_refused_with_the_fix(
    give: Callable[[list[Any]], object], tools: Callable[[], list[Any]]
) -> None:
    with pytest.raises(BadUsage, match="Two tools are named '") as refused:
        give(tools())

    assert "tool(name=" in refused.value.fix
    assert ".prefixed(" in refused.value.fix


def test_the_error_names_both_tools() -> None:
    with pytest.raises(BadUsage) as refused:
        Toolset("all", [query, Toolset("bank", [prod])])

    assert f"{__name__}.query and {__name__}.Database.query" in str(refused.value)


SAME: dict[str, Callable[[], list[Any]]] = {
    "a function": lambda: [query, query],
    "a method": lambda: [prod.query, prod.query],
    "an object": lambda: [prod, prod],
    "an object and its method": lambda: [prod, prod.query],
    "a class": lambda: [Nullary, Nullary],
    "a decorated function": lambda: [decorated, decorated],
    "a toolset": lambda: [bank, bank],
    "a toolset and its member": lambda: [bank, prod.query],
    "a member and its toolset": lambda: [prod.query, bank],
    "a toolset in two": lambda: [Toolset("a", [bank]), Toolset("b", [bank])],
    "a factory": lambda: [inspection, inspection],
    "a folder": lambda: [files("."), files(".")],
}


class Nullary:
    """Made without arguments."""

    def query(self, text: str) -> str:
        """Query."""
        return text


decorated = tool(query, run="auto", name="query")
bank = Toolset("bank", [prod])


@pytest.mark.parametrize("tools", SAME.values(), ids=SAME)
def test_the_same_tool_twice_is_one(tools: Callable[[], list[Any]]) -> None:
    twice, (first, *_) = Toolset("all", tools()), tools()

    assert set(twice.tools()) == set(Toolset("one", [first]).tools())


def test_two_views_of_one_toolset_are_both_kept() -> None:
    @tool
    def read_row(n: int) -> int:
        """Read."""
        return n

    @tool
    def write_row(n: int) -> int:
        """Write."""
        return n

    rows = Toolset("rows", [read_row, write_row], rules="Rows begin at 1.")
    chat = Chat(tools=[rows.filtered("read_*"), rows.filtered("write_*")])

    assert set(chat.tools.tools()) == {"read_row", "write_row"}
    assert chat.tools.rules().count("Rows begin at 1.") == 1


def test_a_prefix_or_a_name_keeps_both() -> None:
    chat = Chat(tools=[Toolset("prod", [prod]).prefixed("prod_"), test.query, tool(query, name="ask")])

    assert set(chat.tools.tools()) == {"prod_query", "query", "ask"}


def test_a_redefinition_in_a_later_cell_replaces() -> None:
    chat = Chat(tools=[make("one")])
    chat.tools.add(make("two"))

    assert chat.tools.get("query").function("x") == "two: x"
