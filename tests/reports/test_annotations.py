"""Situations of public reports about annotations, defaults and names of tools, as they are here."""

# ruff: noqa: N802, N803 - functions under test have names in letters without a case

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, NewType, TypeVar

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict, Unpack

from nbtool import Chat, tool
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.tools.tool import as_tools

FUTURE = "from __future__ import annotations\n"


def run(function: Callable[..., Any], *calls: dict[str, Any] | str) -> list[Any]:
    """Call a tool in a chat, and return what it returned, or why it did not run; a text is JSON as a model wrote it."""
    (made,) = as_tools(tool(run="auto")(function))
    arguments = [json.loads(one) if isinstance(one, str) else one for one in calls]
    replies = [[call(made.name, **one) for one in arguments], "Done."]
    turn = Chat(wire=ScriptedWire(replies), tools=[tool(run="auto")(function)]).send("Use it")
    return [record.result if record.status == "ok" else record.shown for record in turn.calls]


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    schema: dict[str, Any] = dict(as_tools(function)[0].parameters.schema["properties"])
    return schema


def defined(source: str, name: str) -> Any:
    """Return what a module defines: annotations mean what they mean there."""
    module = ModuleType("reported")
    sys.modules["reported"] = module
    exec(compile(source, "reported", "exec", dont_inherit=True), vars(module))
    return vars(module)[name]


def test_a_model_that_writes_integers_with_a_point_is_understood() -> None:
    """lidge-jun/opencodex#1611, ml-explore/mlx-lm#1635: `120000.0` for an integer. Right: 120000. Before: wrong."""

    def wait(milliseconds: int) -> str:
        return f"{milliseconds!r} ms"

    first, second, third = run(wait, '{"milliseconds": 120000.0}', '{"milliseconds": 1.2e5}', '{"milliseconds": 140.5}')

    assert (first, second) == ("120000 ms", "120000 ms")
    assert "valid integer" in third


def test_an_answer_may_have_integers_with_a_point() -> None:
    """openai/codex#33452: integers as `60000.0` in structured data. Right: 60000. Before: wrong."""

    class Answer(BaseModel):
        count: int
        counts: list[int]

    chat = Chat(wire=ScriptedWire(['{"count": 60000.0, "counts": [1.0, 2]}']))

    assert chat.send("How many?", as_=Answer).value == Answer(count=60000, counts=[1, 2])


def test_a_text_stays_a_text_for_a_strict_integer() -> None:
    """pydantic/pydantic#6059: whether `"123.0"` is an integer. Right: refused, with the value. Before: right."""

    def take(count: int) -> int:
        return count

    assert "expected a valid integer" in run(take, {"count": "123.0"})[0]


def test_a_number_of_numpy_is_written_as_a_number() -> None:
    """pydantic/pydantic#8151: no JSON schema for `np.float64`. Right: a number, and the class. Before: wrong."""

    def scale(age: np.float64) -> str:
        return f"{type(age).__name__} {age}"

    assert properties(scale)["age"] == {"type": "number"}
    assert run(scale, {"age": 14.64}) == ["float64 14.64"]


def test_an_integer_of_numpy_is_exactly_the_class_that_is_declared() -> None:
    """pydantic/pydantic#1879: `np.float64` and `np.int64` were treated differently. Right: alike. Before: wrong."""

    def add(x: np.float64, n: np.int64) -> str:
        return f"{type(x).__name__} {type(n).__name__}"

    assert run(add, {"x": 13, "n": 13.0}) == ["float64 int64"]


def test_a_moment_of_pandas_is_written_as_a_text_and_keeps_its_nanoseconds() -> None:
    """pydantic/pydantic#5053: a text for `pd.Timestamp` stayed one. Right: a Timestamp. Before: wrong."""

    def show(created_at: pd.Timestamp) -> str:
        return f"{type(created_at).__name__} {created_at.isoformat()}"

    assert run(show, {"created_at": "2023-02-13T20:14:00.936721506Z"}) == [
        "Timestamp 2023-02-13T20:14:00.936721506+00:00"
    ]


def test_the_keys_of_an_unpacked_typed_dict_are_parameters() -> None:
    """openai/openai-agents-python#4859: `**kwargs: Unpack[Options]`. Right: its keys, no others. Before: wrong."""

    class Options(TypedDict):
        count: int
        label: str

    def configure(**kwargs: Unpack[Options]) -> str:
        return f"{kwargs['label']} x{kwargs['count']}"

    assert list(properties(configure)) == ["count", "label"]
    good, bad = run(configure, {"count": 2, "label": "a"}, {"count": 2, "label": "a", "other": 1})
    assert good == "a x2"
    assert "'other' is not expected" in bad


@pytest.mark.parametrize("module", ["typing", "typing_extensions"])
def test_what_is_not_required_is_not_under_postponed_annotations_either(module: str) -> None:
    """python/cpython#97727, pydantic/pydantic#11557: `NotRequired` was lost. Right: optional. Before: wrong."""
    source = f"{FUTURE}from {module} import NotRequired, TypedDict\nfrom typing_extensions import Unpack\n"
    source += "class Base(TypedDict):\n    name: str\n    owner: NotRequired[str]\n"
    source += "class Dog(Base):\n    age: NotRequired[int]\n"
    source += "def adopt(**dog: Unpack[Dog]) -> str:\n    return str(dog)\n"

    assert run(defined(source, "adopt"), {"name": "Rex"}, {"name": "Rex", "age": 3.0}) == [
        "{'name': 'Rex'}",
        "{'name': 'Rex', 'age': 3}",
    ]


def test_a_method_named_as_a_builtin_does_not_hide_it_in_annotations() -> None:
    """astral-sh/ty#1747: `def list(self)` in a class with `list[int]` as text. Right: the builtin. Before: right."""
    source = f"{FUTURE}class Api:\n    def list(self) -> str:\n        return 'all'\n"
    source += "    def get(self, ids: list[int]) -> str:\n        return str(ids)\n"

    assert run(defined(source, "Api")().get, {"ids": [1, 2]}) == ["[1, 2]"]


def test_a_class_of_a_function_is_found_while_the_function_runs() -> None:
    """tox-dev/sphinx-autodoc-typehints#614: names that only annotations use. Right: resolved. Before: wrong."""

    class Place(BaseModel):
        city: str

    def visit(place: Place) -> str:
        return place.city

    assert run(visit, {"place": {"city": "Bern"}}) == ["Bern"]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is of Python 3.12")
def test_a_type_parameter_is_known_under_postponed_annotations() -> None:
    """python/cpython#114053, python/cpython#124089: `def f[T](x: T)` as text. Right: resolved. Before: wrong."""
    source = f"{FUTURE}def first[T: (int, str)](xs: list[T]) -> T:\n    return xs[0]\n"
    source += "class Box[T]:\n    def put(self, x: T) -> str:\n        return repr(x)\n"
    source += "class Numbers(Box[int]):\n    pass\n"

    assert run(defined(source, "first"), {"xs": [1, 2]}) == [1]
    assert properties(defined(source, "Numbers")().put)["x"] == {"type": "integer"}


def test_an_inherited_method_has_the_types_that_its_class_was_given() -> None:
    """Eigenwise/atomic-agents#161, pydantic/pydantic#10648: the base was shown. Right: Input. Before: wrong."""
    item = TypeVar("item", int, str)

    class Store(Generic[item]):
        def put(self, what: item) -> str:
            return repr(what)

    class Numbers(Store[int]):
        pass

    assert properties(Numbers().put)["what"] == {"type": "integer"}
    assert properties(Store[str]().put)["what"] == {"type": "string"}
    assert "valid integer" in run(Numbers().put, {"what": "not a number"})[0]


def test_a_dispatched_function_is_called_by_position() -> None:
    """python/cpython#80925, python/cpython#85294: `f(x=1)` of a singledispatch. Right: it runs. Before: wrong."""

    @functools.singledispatch
    def show(value: int) -> str:
        return f"number {value}"

    @show.register
    def _(value: str) -> str:
        return f"text {value}"

    assert run(show, {"value": 1}, {"value": "a"}) == ["number 1", "text a"]


def test_the_default_of_an_enum_is_stated() -> None:
    """google/adk-python#3088, strands-agents/harness-sdk#1923: no default of an Enum. Right: stated. Before: wrong."""

    class Color(enum.Enum):
        RED = "red"

    def paint(color: Color = Color.RED, on: dt.date = dt.date(2026, 1, 2), n: np.int64 = np.int64(3)) -> str:  # noqa: B008 - a default under test
        return f"{color} {on} {n}"

    assert [one["default"] for one in properties(paint).values()] == ["red", "2026-01-02", 3]
    assert run(paint, {}) == ["Color.RED 2026-01-02 3"]


def test_an_object_that_can_be_called_is_a_tool() -> None:
    """pydantic/pydantic-ai#850: a dataclass with `__call__` as a tool. Right: its parameters. Before: right."""

    @dataclass
    class Multiply:
        by: int

        def __call__(self, number: int) -> int:
            return number * self.by

    assert list(properties(Multiply(2))) == ["number"]
    assert run(Multiply(2), {"number": 4}) == [8]


def test_a_name_for_a_type_of_a_library_is_that_type() -> None:
    """omry/omegaconf#1273, yukinarit/pyserde#622: aliases were not looked into. Right: looked into. Before: wrong."""
    rate = NewType("rate", np.float64)

    def set_rate(value: rate) -> str:
        return type(value).__name__

    assert run(set_rate, {"value": 1}) == ["float64"]


def test_names_in_other_letters_are_adapted_and_mapped_back() -> None:
    """openbkn-ai/bkn-foundry#250, ggml-org/llama.cpp#28429: Chinese names. Right: ASCII, mapped back. Before: wrong."""

    def 計算(数量: int) -> str:
        return f"{数量} 個"

    (made,) = as_tools(計算)
    spec = json.dumps(made.spec["parameters"]["properties"])
    (parameter,) = made.spec["parameters"]["properties"]

    assert made.name.isascii()
    assert parameter.isascii()
    assert "計算" in made.spec["description"]
    assert json.loads(spec)
    assert run(計算, {parameter: 3.0}) == ["3 個"]


def test_a_name_for_type_checkers_alone_is_an_error_with_the_fix() -> None:
    """python/cpython#152835, scrapy/scrapy#7818: names under `TYPE_CHECKING`. Right: named in words. Before: right."""
    source = f"{FUTURE}from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from somelib import SomeType\n"
    source += "def use(what: SomeType) -> None: ...\n"

    with pytest.raises(BadUsage, match=r"'what' of use cannot be resolved.*TYPE_CHECKING"):
        as_tools(defined(source, "use"))
