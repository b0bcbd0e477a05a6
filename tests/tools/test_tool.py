from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
import pytest
from pydantic import BaseModel

import nbtool
from nbtool.errors import BadUsage
from nbtool.tools import Policy, Tool, tool
from nbtool.tools.functions import name_of
from nbtool.tools.tool import as_tools


def make_tool(function: Any) -> Tool:
    (found,) = as_tools(function)
    return found


def make(source: str, **names: Any) -> Any:
    space: dict[str, Any] = {"tool": tool, **names}
    exec(compile(source, "<cell>", "exec"), space)
    return space["f"]


def test_a_decorated_function_stays_the_function_it_is() -> None:
    @tool
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    @tool(run="auto", timeout=3)
    async def wait() -> None: ...

    assert double(4) == 8
    assert inspect.isfunction(double)
    assert inspect.iscoroutinefunction(wait)
    assert nbtool.tool is tool


def test_the_options_reach_the_tool() -> None:
    def f() -> None: ...

    marked = tool(f, run="ask_once", result="always", timeout=2, thread=True, name="g", sensitive=True, store_as="kept")
    found = make_tool(marked)

    assert (found.name, found.timeout, found.thread, found.store_as) == ("g", 2, True, "kept")
    assert found.policy == Policy("ask_once", "always", sensitive=True)


def test_a_tool_asks_each_time_unless_it_says_otherwise() -> None:
    assert make_tool(lambda_named()).policy == Policy("ask_always", "never")


def lambda_named() -> Any:
    def plain() -> None: ...

    return plain


@pytest.mark.parametrize("name", ["", "two words", "ä b", "ä" * 201, "x" * 65, "a.b", "<lambda>", "a\n"])
def test_a_name_that_providers_refuse_is_one_clear_error(name: str) -> None:
    def f() -> None: ...

    f.__name__ = name

    with pytest.raises(BadUsage, match=r"is not a valid tool name.*tool\(name=\.\.\.\)"):
        tool(f)


@pytest.mark.parametrize(
    "options",
    [
        {"run": "always"},
        {"result": "ask"},
        {"timeout": 0},
        {"timeout": -1},
        {"thread": "main"},
        {"name": "a b"},
        {"store_as": "a b"},
    ],
)
def test_an_option_that_makes_no_sense_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(BadUsage):
        tool(**options)


@pytest.mark.parametrize("thing", [3, "text", None, [1]])
def test_what_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(BadUsage, match="is not a tool"):
        as_tools(thing)
    with pytest.raises(BadUsage, match="takes a function or a class"):
        tool(run="auto")(thing)


def test_a_tool_in_quotes_is_refused_with_the_way_to_pass_it() -> None:
    with pytest.raises(
        BadUsage, match=r"A str is not a tool\. Pass the function itself, without quotes: tools=\[double\]"
    ):
        nbtool.Chat(tools=["double"])
    with pytest.raises(BadUsage, match=r"An int is not a tool\. Pass a function"):
        as_tools(3)


def test_an_object_of_a_library_with_many_methods_is_data_and_no_tools() -> None:
    with pytest.raises(BadUsage, match=r"A DataFrame has \d+ methods: that is data") as refused:
        as_tools(pd.DataFrame())

    assert "chat.expose" in str(refused.value)


def test_a_class_that_needs_arguments_is_refused_with_advice() -> None:
    class Shop:
        def __init__(self, stock: int) -> None: ...

        def buy(self) -> None: ...

    with pytest.raises(BadUsage, match="Pass an instance"):
        as_tools(Shop)
    assert [one.name for one in as_tools(Shop(3))] == ["buy"]


def test_bound_methods_builtins_and_partials_can_be_tools() -> None:
    class Shop:
        def buy(self, n: int) -> int:
            """Buy some."""
            return n

    method = tool(Shop().buy, run="auto")
    builtin = tool(abs, run="auto", name="absolute")
    partial = functools.partial(Shop().buy, 3)

    assert (make_tool(method).name, make_tool(method).description, method(2)) == ("buy", "Buy some.", 2)
    assert (make_tool(builtin).name, builtin(-1)) == ("absolute", 1)
    assert name_of(partial) == "buy"
    assert make_tool(make_tool(partial)).name == "buy"


def test_marking_a_function_again_leaves_the_first_mark_alone() -> None:
    def f() -> int:
        return 1

    first = tool(f, run="auto")
    second = tool(f, name="other")

    assert make_tool(first).policy.run == "auto"
    assert (make_tool(second).name, second()) == ("other", 1)


def test_asynchronous_functions_are_known() -> None:
    async def coroutine() -> None: ...

    async def generator() -> AsyncIterator[int]:
        yield 1

    def plain() -> Iterator[int]:
        yield 1

    assert make_tool(coroutine).is_async
    assert make_tool(generator).is_async
    assert make_tool(functools.partial(coroutine)).is_async
    assert not make_tool(plain).is_async


def test_the_digest_is_stable_and_changes_with_the_tool() -> None:
    base = make_tool(make("def f(a: int):\n    return a"))

    assert base.digest == make_tool(make("def f(a: int):\n    return a")).digest
    assert base.identity == make_tool(make("def f(a: int):\n    return a")).identity
    assert base.digest != make_tool(make("def f(a: int):\n    return a + 1")).digest
    assert base.digest != make_tool(make("def f(a: int):\n    return [b for b in (a, 5)]")).digest
    assert base.digest != make_tool(make("def f(a: str):\n    return a")).digest
    assert base.digest != make_tool(make("def f(a: int):\n    'Says.'\n    return a")).digest
    assert make_tool(make("def f(a: int):\n    return a in {1, 2}")).digest


def test_two_tools_of_one_source_are_distinguished_by_what_they_are_bound_to() -> None:
    def adder(n: int) -> Any:
        def add(m: int) -> int:
            return n + m

        return add

    class Shop:
        def buy(self) -> None: ...

    class Named:
        def __call__(self) -> None: ...

    one, two = Shop(), Shop()

    assert make_tool(adder(1)).digest == make_tool(adder(1)).digest
    assert make_tool(adder(1)).identity != make_tool(adder(2)).identity
    assert make_tool(one.buy).identity == make_tool(one.buy).identity
    assert make_tool(one.buy).identity != make_tool(two.buy).identity
    assert make_tool(functools.partial(Shop.buy, one)).identity != make_tool(functools.partial(Shop.buy, two)).identity
    assert make_tool(Named()).name == "Named"
    assert make_tool(abs).identity == "builtins.abs"


def test_a_policy_may_be_a_function_of_the_arguments() -> None:
    policy = Policy(
        run=lambda arguments: "auto" if arguments["n"] < 3 else "ask_always",
        result=lambda arguments: "always" if arguments["n"] else "never",
    )

    assert (policy.run_mode({"n": 1}), policy.run_mode({"n": 5})) == ("auto", "ask_always")
    assert (policy.result_mode({"n": 1}), policy.result_mode({"n": 0})) == ("always", "never")
    with pytest.raises(BadUsage, match="Return one of"):
        Policy(run=lambda _: "sure").run_mode({})  # type: ignore[arg-type,return-value]
    with pytest.raises(BadUsage, match="Return one of"):
        Policy(result=lambda _: None).result_mode({})  # type: ignore[arg-type,return-value]


def test_a_model_of_pydantic_has_its_own_methods_as_tools_and_no_others() -> None:
    class Shop(BaseModel):
        city: str = "Bern"

        def buy(self, item: str) -> str:
            return f"{item} in {self.city}"

    assert [one.name for one in as_tools(Shop)] == [one.name for one in as_tools(Shop(city="Oslo"))] == ["buy"]


def test_a_class_that_only_holds_fields_is_refused_with_the_fix() -> None:
    class Order(BaseModel):
        n: int

    @dataclass
    class Point:
        x: int = 0

    class Pair(NamedTuple):
        a: int

    for kind in (Order, Point, Pair):
        with pytest.raises(BadUsage, match=rf"{kind.__name__} holds fields.*def use\(value: {kind.__name__}\)"):
            as_tools(kind)


def test_a_class_that_needs_arguments_is_refused_in_one_line() -> None:
    class Shop(BaseModel):
        city: str

        def buy(self, item: str) -> str:
            return f"{item} in {self.city}"

    with pytest.raises(BadUsage, match=r"Shop cannot be created .*: 1 validation error.*Pass an") as refused:
        as_tools(Shop)

    assert "\n" not in str(refused.value)


def test_an_async_function_takes_no_thread() -> None:
    async def wait() -> None:
        "Wait."

    async def count() -> AsyncIterator[int]:
        "Count."
        yield 1

    for function in (wait, count):
        with pytest.raises(BadUsage, match=r"is async, and runs on an event loop.*asyncio\.to_thread"):
            tool(function, thread=True)
