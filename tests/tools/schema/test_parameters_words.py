"""What a schema says: docstrings, defaults, definitions, and functions of every sort."""

# ruff: noqa: ARG001 - tools under test have parameters that they do not need

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, TypedDict

import pandas as pd
import pytest
from pydantic import BaseModel, Field

from nbtool.errors import BadUsage
from nbtool.tools.schema.signature import parameters_of
from tests.tools.signatures import Color, Connection, Order, Point, check, one, schema_of


class Node(BaseModel):
    title: str
    children: list[Node] = []


def google(a: int, b: pd.DataFrame) -> int:
    """Count things.

    In several lines.

    Args:
        a: how many
        b: where from

    Returns:
        the count
    """
    return 0


def numpy_style(a: int, b: pd.DataFrame) -> int:
    """Count things.

    In several lines.

    Parameters
    ----------
    a : int
        how many
    b : DataFrame
        where from

    Returns
    -------
    int
        the count
    """
    return 0


def rest_style(a: int, b: pd.DataFrame) -> int:
    """Count things.

    In several lines.

    :param a: how many
    :param b: where from
    :returns: the count
    """
    return 0


@pytest.mark.parametrize("function", [google, numpy_style, rest_style])
def test_docstrings_of_three_styles_say_the_same(function: Callable[..., Any]) -> None:
    description, parameters = parameters_of(function)
    properties = parameters.schema["properties"]

    assert description == "Count things.\n\nIn several lines.\n\nReturns: the count"
    assert properties["a"]["description"] == "how many"
    assert properties["b"]["description"] == "where from (a reference: $VAR_REF{{name}} to a DataFrame)"


def test_a_docstring_that_cannot_be_parsed_is_taken_as_it_is() -> None:
    def tool() -> None:
        """Do it.

        :param
        """

    assert "Do it." in parameters_of(tool)[0]


def test_field_descriptions_and_properties_named_title_stay() -> None:
    def tool(title: Annotated[str, Field(description="the heading", title="Heading")], node: Point) -> None: ...

    properties = schema_of(tool)["properties"]

    assert properties["title"] == {"type": "string", "description": "the heading"}
    assert set(properties["node"]["properties"]) == {"x", "y"}


def test_definitions_are_written_out_and_recursive_ones_kept() -> None:
    def tool(node: Node, order: Order, orders: list[Order]) -> None: ...

    schema = schema_of(tool)

    assert schema["properties"]["order"]["properties"]["item"] == {"type": "string"}
    assert schema["properties"]["orders"]["items"]["properties"]["item"] == {"type": "string"}
    assert list(schema["$defs"]) == ["Node"]
    assert schema["$defs"]["Node"]["properties"]["title"] == {"type": "string"}


def test_defaults_are_in_the_schema_where_json_can_say_them() -> None:
    def tool(a: int = 3, b: object = Connection(), c: Color = Color.RED, d: float = float("nan")) -> None: ...

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        properties = schema_of(tool)["properties"]

    assert properties["a"]["default"] == 3
    assert "default" not in properties["b"]
    assert "default" not in properties["d"]


def test_a_function_may_use_a_name_of_its_function_that_is_bound_later() -> None:
    def later(row: int) -> str:
        "Use a name that has no value yet."
        return f"{row} {value}"

    parameters = parameters_of(later)[1]
    value = 3

    assert list(parameters.by_name) == ["row"]
    assert later(1) == "1 3"


def test_local_classes_behind_postponed_annotations_are_found() -> None:
    class Local(BaseModel):
        n: int

    def tool(it: Local) -> Local:
        return it

    def return_function() -> Any:
        class Local2(BaseModel):
            n: int

        def late(it: Local2) -> None: ...

        return late

    assert check(tool, it={"n": 1})["it"] == Local(n=1)
    with pytest.raises(BadUsage, match="cannot be resolved"):
        parameters_of(return_function())

    def closed(it: Local) -> Any:
        return Local

    assert check(closed, it={"n": 1})["it"] == Local(n=1)


def test_methods_partials_and_callable_objects_have_schemas() -> None:
    class Adder:
        def __call__(self, it: Point) -> None: ...

        def add(self, it: Point) -> None: ...

    for function in (Adder(), Adder().add, functools.partial(Adder.add, Adder()), functools.partial(Adder().add)):
        assert list(schema_of(function)["properties"]) == ["it"]


def test_a_signature_that_cannot_be_read_is_one_clear_error() -> None:
    with pytest.raises(BadUsage, match=r"signature .* cannot be read"):
        parameters_of(ContextVar("it").get)


def test_an_annotation_that_means_nothing_is_one_clear_error() -> None:
    with pytest.raises(BadUsage, match=r"annotation '3 \+' of the parameter 'it' of tool cannot be resolved"):
        parameters_of(one("3 +"))
    with pytest.raises(BadUsage, match=r"The parameter 'it' of tool cannot be described .* has no JSON schema"):
        parameters_of(one(typing_only()))


@pytest.mark.parametrize(
    "annotation",
    [any, google, list[google], dict[str, google]],  # type: ignore[valid-type]  # the mistake that is refused
)
def test_a_function_in_place_of_a_type_is_refused_and_never_called(annotation: Any) -> None:
    with pytest.raises(BadUsage, match=r"The parameter 'it' of tool cannot be described .* has no JSON schema"):
        parameters_of(one(annotation))


class Nested(TypedDict):
    field: Missing  # type: ignore[name-defined]  # noqa: F821 - cannot be resolved


def test_an_annotation_error_names_the_function_and_the_fix() -> None:
    def price(frame: Frame) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - cannot be resolved

    class Shop:
        def sell(self, frame: Frame) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - the same

        def buy(self, order: Nested) -> None: ...

    unresolved = [(price, "price"), (functools.partial(price), "price"), (Shop().sell, "Shop.sell")]
    for function, name in unresolved:
        with pytest.raises(BadUsage, match=f"parameter 'frame' of {name} cannot be resolved") as refused:
            parameters_of(function)
        assert "top level" in refused.value.fix
    with pytest.raises(BadUsage, match=r"parameter 'order' of Shop.buy .*'Missing' is not defined") as refused:
        parameters_of(Shop().buy)
    assert "Any" in refused.value.fix


def typing_only() -> Any:
    from typing import ClassVar

    return ClassVar[int]
