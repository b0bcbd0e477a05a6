"""Situations of public reports about signatures of tools, their arguments and their results, as they are here."""

# ruff: noqa: B008 - functions under test have parameters that they do not need, and declare defaults

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from nbtool import Chat, tool
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import as_tools
from nbtool.wire import decode


def run(function: Callable[..., Any], *calls: dict[str, Any], name: str = "use") -> list[Any]:
    """Call a tool in a chat, and return what it returned, or why it did not run."""
    made = tool(run="auto", name=name)(function)
    replies = [[call(name, **arguments) for arguments in calls], "Done."]
    turn = Chat(wire=ScriptedWire(replies), tools=[made]).send("Use it")
    return [record.result if record.status == "ok" else record.shown for record in turn.calls]


def offered(function: Callable[..., Any]) -> list[str]:
    return list(as_tools(function)[0].parameters.schema["properties"])


def test_a_field_of_pydantic_as_a_default_is_that_default() -> None:
    """run-llama/llama_index#17324: `Field(default="Berlin")` arrived as a `FieldInfo`. Right: Berlin. Before: wrong."""

    def weather(location: str | None = Field(default="Berlin")) -> str | None:
        return location

    assert run(weather, {}, {"location": "Oslo"}, {"location": None}) == ["Berlin", "Oslo", None]


def test_a_declared_default_beside_a_declared_description_is_used_in_a_text() -> None:
    """PrefectHQ/fastmcp#3036: a prompt's omitted `Field(default=…)` was printed as a declaration. Right: its value.
    Before: wrong."""

    def analyze(
        data_uri: str = Field(description="The URI of the data."),
        analysis_type: str = Field(default="summary", description="Type of analysis."),
    ) -> str:
        return f"Perform '{analysis_type}' analysis on {data_uri}."

    assert run(analyze, {"data_uri": "data.csv"}) == ["Perform 'summary' analysis on data.csv."]


def test_a_factory_of_a_default_is_called_for_each_call() -> None:
    """run-llama/llama_index#22688: `default_factory` ran once for each tool. Right: once for each call. Before:
    wrong."""

    def start(name: str, job: str = Field(default_factory=lambda: uuid4().hex), got: list[str] = Field([])) -> str:
        got.append(name)
        return f"{job} {len(got)}"

    started = run(start, *({"name": name} for name in "abc"))

    assert len({one.split()[0] for one in started}) == 3
    assert [one.split()[1] for one in started] == ["1", "1", "1"]


def test_an_alias_is_what_the_model_writes_and_not_what_the_function_takes() -> None:
    """modelcontextprotocol/python-sdk#3099: the alias of a parameter was passed as a keyword. Right: the model writes
    the alias, and the function gets its parameter. Before: wrong."""

    def double(x: Annotated[int, Field(alias="externalX", ge=1)]) -> int:
        return 2 * x

    assert offered(double) == ["externalX"]
    assert run(double, {"externalX": 4}) == [8]


def test_update_wrapper_does_not_unbind_a_partial() -> None:
    """python/cpython#90917: after `update_wrapper` a partial has the signature of its function. Right: its own: what is
    bound is not offered. Before: wrong."""

    def fetch(url: str, token: str) -> str:
        return f"{url} {token}"

    bound = functools.update_wrapper(functools.partial(fetch, token="mine"), fetch)

    assert "token" in inspect.signature(bound).parameters
    assert offered(bound) == ["url"]
    assert run(bound, {"url": "a"}) == ["a mine"]
    assert "'token' is not expected" in run(bound, {"url": "a", "token": "other"})[0]


def test_one_function_with_different_bound_arguments_is_several_tools() -> None:
    """pydantic/pydantic-ai#1097: partials of one function are given as tools. Right: what is bound is not in the
    schema. Before: wrong."""

    def favorite_team(name: str, time: str) -> str:
        return f"{name} by {time}"

    day, night = (functools.partial(favorite_team, time=time) for time in ("day", "night"))

    assert offered(day) == ["name"]
    assert [*run(day, {"name": "A"}), *run(night, {"name": "A"})] == ["A by day", "A by night"]


def test_a_partial_with_everything_bound_has_no_parameters() -> None:
    """googleapis/python-genai#907: a partial with every keyword bound was refused. Right: it has no parameters. Before:
    wrong."""

    def test(k: int = 1, j: int = 2) -> int:
        return k * j

    bound = functools.partial(test, k=3, j=4)

    assert offered(bound) == []
    assert run(bound, {}) == [12]


def test_a_wrapper_around_a_bound_method_does_not_offer_its_object() -> None:
    """python/cpython#74044: `self` was in the signature of a decorated bound method. Right: it is bound, and not
    offered. Before: right."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

        return inner

    class Shop:
        @decorate
        def buy(self, item: str) -> str:
            return f"{item} bought"

    bought = decorate(Shop().buy)

    assert offered(bought) == ["item"]
    assert run(bought, {"item": "tea"}) == ["tea bought"]


def test_an_excluded_field_stays_excluded_inside_other_models() -> None:
    """crewAIInc/crewAI#6595: what was to be left out of a model came back in nested models. Right: left out at each
    level. Before: wrong."""

    class Address(BaseModel):
        street: str = "123 Main St"
        secret: str = Field(default="TOP-SECRET", exclude=True)

    class Person(BaseModel):
        name: str = "John"
        address: Address = Address()
        others: dict[str, list[Address]] = {"a": [Address()]}

    def person() -> Any:
        return {"all": [Person()]}

    turn = Chat(wire=ScriptedWire([call("person"), "Done."]), tools=[tool(run="auto")(person)]).send("Who?")

    address = {"street": "123 Main St"}
    text = turn.calls[0].shown.partition("\n[")[0]
    assert json.loads(text) == {"all": [{"name": "John", "address": address, "others": {"a": [address]}}]}


def test_a_model_that_keeps_its_extra_fields_back_is_asked_itself() -> None:
    """NodeJSmith/hassette#254: extra fields leaked until `model_dump` was overridden. Right: the override counts.
    Before: right."""

    class Manifest(BaseModel):
        model_config = ConfigDict(extra="allow")

        name: str = "app"

        def model_dump(self, **how: Any) -> dict[str, Any]:
            return super().model_dump(exclude=set(self.model_extra or ()), **how)

    def manifest() -> Any:
        return Manifest(token="SECRET")  # type: ignore[call-arg]

    turn = Chat(wire=ScriptedWire([call("manifest"), "Done."]), tools=[tool(run="auto")(manifest)]).send("Which?")

    assert json.loads(turn.calls[0].shown) == {"name": "app"}


def test_arguments_that_are_json_but_no_object_end_one_call_and_not_the_chat() -> None:
    """open-webui/open-webui#29323, crewAIInc/crewAI#7536: lists, texts and numbers as arguments crashed the chat.
    Right: one invalid call. Before: right."""
    for written in ('["oops"]', "3", '"foo"', "true", ["oops"], 3, True):
        function = {"name": "use", "arguments": written}
        body = {"choices": [{"index": 0, "message": {"tool_calls": [{"id": "c", "function": function}]}}]}

        (made,) = decode("chat", json.dumps(body).encode(), stream=False).calls

        assert not made.runnable
        assert "expected an object" in str(made.error)
