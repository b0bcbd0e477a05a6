# ruff: noqa: ARG001, ARG005 - tools under test have parameters that they do not need
from __future__ import annotations

from typing import Any

import pytest

from nbtool.errors import BadUsage, UnknownTool
from nbtool.tools import Policy, Tool, Toolset, tool


def price(ticker: str) -> float:
    """Latest close."""
    return 1.0


def volume(ticker: str) -> int:
    """Shares traded."""
    return 2


def test_tools_are_found_by_name() -> None:
    tools = Toolset("market", [price, volume])

    assert tools.get("price").description == "Latest close."
    assert [one.name for one in tools] == ["price", "volume"]
    assert len(tools) == 2
    assert "price" in tools
    assert repr(tools) == "Toolset('market', price, volume)"
    assert repr(Toolset()) == "Toolset('tools', empty)"


def test_an_unknown_name_is_answered_with_real_ones() -> None:
    with pytest.raises(UnknownTool, match=r"no tool 'prize'\. Did you mean price\?"):
        Toolset("market", [volume, price]).get("prize")
    with pytest.raises(UnknownTool, match=r"no tool 'zzz'\. Tools: price, volume\."):
        Toolset("market", [volume, price]).get("zzz")
    with pytest.raises(UnknownTool, match="Tools: none"):
        Toolset().get("x")


def test_the_names_an_error_lists_are_bounded() -> None:
    tools = Toolset("many", [tool(lambda: 0, name=f"t{n}") for n in range(30)])

    with pytest.raises(UnknownTool, match="and 10 more"):
        tools.get("zzz")


def test_a_disabled_tool_cannot_be_called_by_naming_it() -> None:
    tools = Toolset("market", [price, volume])
    tools.disable("price")

    assert list(tools.tools()) == ["volume"]
    with pytest.raises(UnknownTool):
        tools.get("price")
    tools.enable("price")
    assert tools.get("price")
    with pytest.raises(UnknownTool):
        tools.disable("nothing")


def test_a_redefined_function_replaces_its_former_self() -> None:
    def make(version: int) -> object:
        def answer() -> int:
            return version

        return answer

    tools = Toolset("t", [make(1)])
    tools.add(make(2))

    assert tools.get("answer").function() == 2


def test_another_function_of_the_same_name_is_refused() -> None:
    other = tool(lambda: 0, name="price")

    with pytest.raises(BadUsage, match="Two tools are named 'price'"):
        Toolset("market", [price, other])
    with pytest.raises(BadUsage, match="Two tools are named 'price'"):
        Toolset("market", [price, Toolset("inner", [other])])
    with pytest.raises(BadUsage, match="Two tools are named 'price'"):
        Toolset("market", [Toolset("inner", [price]), other])


def test_a_collision_that_grows_later_is_found_when_it_is_used() -> None:
    inner = Toolset("inner", [volume])
    outer = Toolset("outer", [price, inner])
    inner.add(tool(lambda: 0, name="price"))

    with pytest.raises(BadUsage, match="Two tools"):
        outer.tools()


def test_a_set_inside_a_set_stays_alive() -> None:
    inner = Toolset("inner", [price], rules="Ask first.")
    outer = Toolset("outer", [inner])
    inner.add(volume)

    assert list(outer.tools()) == ["price", "volume"]
    assert outer.rules() == "Ask first."
    assert outer.add(inner) == ("price", "volume")
    outer.remove("inner")
    assert len(outer) == 0


def test_tools_can_be_taken_away() -> None:
    tools = Toolset("market", [price])
    tools.remove("price")

    assert len(tools) == 0
    with pytest.raises(UnknownTool):
        tools.remove("price")


def test_rules_are_given_only_while_a_tool_is_switched_on() -> None:
    tools = Toolset("market", [price, volume], rules=lambda names: f"Use {' and '.join(names)}.")

    assert tools.rules() == "Use price and volume."
    tools.disable("price")
    assert tools.rules() == "Use volume."
    tools.disable("volume")
    assert tools.rules() == ""


def test_each_public_method_of_a_class_is_a_tool() -> None:
    @tool(run="auto")
    class Shop:
        def __init__(self) -> None:
            self.stock = 3

        def count(self) -> int:
            """How many."""
            return self.stock

        @tool(run="ask_once", name="buy_one")
        def buy(self) -> None:
            self.stock -= 1

        def _secret(self) -> None: ...

    tools = Toolset("shop", [Shop])

    assert {name: one.policy.run for name, one in tools.tools().items()} == {"count": "auto", "buy_one": "ask_once"}
    assert tools.get("count").function() == 3


def test_a_class_added_again_leaves_no_method_behind() -> None:
    def make(names: list[str]) -> object:
        return type("Desk", (), {name: _method(name) for name in names})

    tools = Toolset("d", [make(["open", "close"]), price])
    tools.add(make(["open"]))

    assert sorted(tools.tools()) == ["open", "price"]


def _method(name: str) -> object:
    def method(self: object) -> str:
        return name

    method.__qualname__ = f"Desk.{name}"
    method.__name__ = name
    return method


def test_wrappers_narrow_rename_and_gate() -> None:
    tools = Toolset("market", [price, volume], rules="R")

    assert list(tools.filtered(["price"]).tools()) == ["price"]
    assert tools.filtered(lambda one: False).rules() == ""
    assert tools.filtered(["price"]).rules() == "R"
    renamed = tools.prefixed("m_")
    assert list(renamed.tools()) == ["m_price", "m_volume"]
    assert renamed.rules() == "R"
    assert renamed.tools()["m_price"] is renamed.tools()["m_price"]
    assert renamed.tools()["m_price"].digest != tools.get("price").digest
    with pytest.raises(BadUsage, match="is not a valid tool name"):
        tools.prefixed("no good ")
    gated = tools.approved(Policy("auto", "always"))
    assert gated.tools()["price"].policy == Policy("auto", "always")
    assert gated.tools()["price"] is gated.tools()["price"]
    assert gated.rules() == "R"


def test_a_sensitive_tool_stays_sensitive_under_any_policy() -> None:
    def pay() -> None: ...

    gated = Toolset("bank", [tool(pay, sensitive=True)]).approved(Policy("auto"))

    assert gated.tools()["pay"].policy.run_mode({}) == "ask_always"


def test_a_wrapper_can_be_added_like_any_set() -> None:
    outer = Toolset("outer", [Toolset("market", [price]).prefixed("m_"), price])

    assert list(outer.tools()) == ["price", "m_price"]
    assert isinstance(outer.get("m_price"), Tool)


@pytest.mark.parametrize(
    ("keep", "names"),
    [
        ("read_*", ["read_all", "read_file"]),
        (["read_all", "write"], ["read_all", "write"]),
        (["*_file"], ["read_file"]),
    ],
)
def test_a_view_keeps_the_tools_that_are_named_or_whose_names_fit_a_pattern(keep: Any, names: list[str]) -> None:
    functions = [tool(lambda: 1, name=name) for name in ("read_all", "read_file", "write")]

    assert sorted(Toolset("files", functions).filtered(keep).tools()) == names


@tool
def look(n: int) -> int:
    """Look."""
    return n


def test_a_toolset_keeps_its_name_under_another_policy() -> None:
    assert Toolset("mine", [look]).approved(Policy("auto")).name == "mine"


def test_a_contained_set_that_gets_another_tool_of_a_name_later_is_found_out_by_the_name() -> None:
    def offered(ticker: str) -> float:
        """Best bid."""
        return 2.0

    inner = Toolset("inner", [volume])
    outer = Toolset("outer", [price, inner])
    assert outer.find("price") is outer.get("price")
    inner.add(tool(offered, name="price"))

    with pytest.raises(BadUsage) as refused:
        outer.find("price")
    assert all(name in str(refused.value) for name in ("'price'", "'outer'", "offered"))
    assert outer.find("volume") is inner.get("volume")
