"""What can be a tool, and where it runs."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import current_thread
from typing import Any

import pytest

from nbtool import Policy, Progress, Toolset, tool
from tests.contract.simulator import Provider, call


@pytest.mark.parametrize("kind", ["sync", "async", "generator", "async generator", "method", "object"])
def test_every_kind_of_callable_is_a_tool(model: Provider, kind: str) -> None:
    def sync(n: int) -> int:
        "Twice a number."
        return 2 * n

    async def later(n: int) -> int:
        "Twice a number."
        await asyncio.sleep(0)
        return 2 * n

    def steps(n: int) -> Any:
        "Twice a number."
        yield Progress("half", 0.5)
        return 2 * n

    async def later_steps(n: int) -> Any:
        "Twice a number."
        yield Progress("half", 0.5)
        yield 2 * n

    class Doubler:
        def double(self, n: int) -> int:
            "Twice a number."
            return 2 * n

    functions = {"sync": sync, "async": later, "generator": steps, "async generator": later_steps,
                 "method": Doubler().double}  # fmt: skip
    made = Toolset("shop", [Doubler()]).approved(Policy("auto")) if kind == "object" else None
    one = made or tool(run="auto", name="double")(functions[kind])
    model.say(call("double", n=21), "42.")

    turn = model.chat(tools=[one]).send("Double 21.")

    assert turn.calls[0].status == "ok", turn.calls[0].shown
    assert turn.calls[0].result in (42, [42])


def get_process() -> int:
    "Say in which process it runs."
    return os.getpid()


@pytest.mark.feature("run tools on a cluster")
def test_a_tool_runs_in_a_pool_of_processes(model: Provider) -> None:
    with ProcessPoolExecutor(1) as pool:
        model.say(call("get_process"), "There.")

        turn = model.chat(tools=[tool(run="auto", executor=pool)(get_process)]).send("Where?")

    assert turn.calls[0].status == "ok", turn.calls[0].shown
    assert turn.calls[0].result != os.getpid()


@pytest.mark.feature("run tools on a cluster")
def test_a_tool_runs_where_its_executor_says(model: Provider) -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="elsewhere") as pool:

        @tool(run="auto", executor=pool)
        def where() -> str:
            "Say where it runs."
            return current_thread().name

        model.say(call("where"), "There.")
        turn = model.chat(tools=[where]).send("Where?")

    assert turn.calls[0].result.startswith("elsewhere")


@pytest.mark.feature("make a tool of a JSON schema")
def test_a_schema_takes_the_place_of_annotations(model: Provider) -> None:
    calls: list[dict[str, Any]] = []

    @tool(run="auto", schema={"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})
    def double(**arguments: Any) -> None:
        "Twice a number."
        calls.append(arguments)

    model.say(call("double", n=0), call("double", n=21), "Done.")

    turn = model.chat(tools=[double]).send("Double it.")

    assert [found.status for found in turn.calls] == ["invalid", "ok"]
    assert calls == [{"n": 21}]
