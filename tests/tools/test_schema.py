# ruff: noqa: ARG001 - tools under test have parameters that they do not need
from __future__ import annotations

import dataclasses
import datetime
import enum
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict, TypeVar

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel, Field, field_validator

from nbtool.errors import BadUsage, InvalidArguments
from nbtool.tools.references import Resolved, resolve, unresolved
from nbtool.tools.schema import parameters_of
from nbtool.tools.variables import Variables

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict):
    depth: int
    name: NotRequired[str]


class Order(BaseModel):
    item: str
    count: int = Field(default=1, ge=1)


class Node(BaseModel):
    title: str
    children: list[Node] = []


class Note(BaseModel):
    text: Any


class Fussy(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def refuse(cls, text: str) -> str:
        raise ValueError(f"I dislike {text}")


class Connection:
    def __repr__(self) -> str:
        return "Connection()"  # part of a test's id, which is the same in every process


def schema_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    return parameters_of(function)[1].schema


def check(function: Callable[..., Any], /, **arguments: Any) -> dict[str, Any]:
    return parameters_of(function)[1].check(unresolved(arguments))


def check_with(function: Callable[..., Any], objects: Mapping[str, Any], /, **arguments: Any) -> dict[str, Any]:
    variables = Variables()
    for name, value in objects.items():
        variables.expose(name, value)
    return parameters_of(function)[1].check(resolve(arguments, variables))


def call(function: Callable[..., Any], /, **arguments: Any) -> Any:
    parameters = parameters_of(function)[1]
    positional, keywords = parameters.bind(parameters.check(unresolved(arguments)))
    return function(*positional, **keywords)


def one(annotation: Any, default: Any = ...) -> Callable[..., Any]:
    def tool(it):  # type: ignore[no-untyped-def]
        return it

    tool.__annotations__["it"] = annotation
    if default is not ...:
        tool.__defaults__ = (default,)
    return tool


ZOO: list[tuple[Any, dict[str, Any], Any, Any]] = [
    (int, {"type": "integer"}, 3, 3),
    (float, {"type": "number"}, 3, 3.0),
    (str, {"type": "string"}, "x", "x"),
    (bool, {"type": "boolean"}, True, True),
    (None, {"type": "null"}, None, None),
    (Any, {}, {"a": [1]}, {"a": [1]}),
    (object, {}, "x", "x"),
    (T, {}, 1, 1),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, {"a": 1.0}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Color, {"type": "string", "enum": ["red", "blue"]}, "red", Color.RED),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (Annotated[int, Field(ge=1, description="at least one")], None, 2, 2),  # type: ignore[list-item]
    (datetime.date, {"type": "string", "format": "date"}, "2024-02-29", datetime.date(2024, 2, 29)),
    (Point, None, {"x": 1}, Point(1)),  # type: ignore[list-item]
    (Options, None, {"depth": 1}, {"depth": 1}),  # type: ignore[list-item]
    (Order, None, {"item": "tea"}, Order(item="tea")),  # type: ignore[list-item]
    (list[Order], None, [{"item": "tea", "count": 2}], [Order(item="tea", count=2)]),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("annotation", "schema", "given", "expected"), ZOO, ids=lambda value: str(value)[:30])
def test_what_json_can_say_gets_a_schema_and_a_value(
    annotation: Any, schema: dict[str, Any] | None, given: Any, expected: Any
) -> None:
    function = one(annotation)

    assert check(function, it=given) == {"it": expected}
    assert schema is None or schema_of(function)["properties"]["it"] == schema
    assert "$ref" not in str(schema_of(function))


@pytest.mark.parametrize(
    ("annotation", "given", "message"),
    [
        (int, "3", "'it': expected a valid integer, got \"3\""),
        (int, 3.5, "a valid integer, got 3.5"),
        (int, True, "a valid integer, got true"),
        (str, 3, "a valid string, got 3"),
        (bool, 1, "a valid boolean, got 1"),
        (float, "1.0", "a valid number"),
        (list[int], [1, "2"], r"'it'\[1\]: expected a valid integer, got \"2\""),
        (Literal["a", "b"], "c", "'a' or 'b', got \"c\""),
        (Order, {"item": "tea", "count": 0}, r"'it'\['count'\]: expected greater than or equal to 1"),
        (Annotated[int, Field(ge=3)], 1, "greater than or equal to 3"),
        (pd.DataFrame, "rows", 'a reference to a DataFrame, got "rows"'),
        (Fussy, {"text": "tea"}, "I dislike tea"),
        (int, "x" * 500, "x…"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_expected_and_what_came(
    annotation: Any, given: Any, message: str
) -> None:
    with pytest.raises(InvalidArguments, match=message) as refusal:
        check(one(annotation), it=given)

    assert "Parameters: it." in str(refusal.value)
    assert len(str(refusal.value)) < 300


class Deep(TypedDict, total=False):
    frame: Required[pd.DataFrame]
    options: list[Options]


def test_typed_dicts_may_be_nested_optional_and_hold_references() -> None:
    frame = pd.DataFrame()

    made = check_with(one(Deep), {"df": frame}, it={"frame": "$VAR_REF{{df}}", "options": [{"depth": 2}]})["it"]

    assert made["frame"] is frame
    assert schema_of(one(Deep))["properties"]["it"]["required"] == ["frame"]
    assert schema_of(one(Options))["properties"]["it"]["required"] == ["depth"]
    with pytest.raises(InvalidArguments, match="expected Field required"):
        check_with(one(Deep), {"df": frame}, it={})


def test_missing_and_unexpected_arguments_are_all_named() -> None:
    def tool(a: int, b: int = 0) -> None: ...

    with pytest.raises(InvalidArguments, match=r"'a' is missing; 'c' is not expected\. Parameters: a, b \(optional\)"):
        check(tool, c=1)
    with pytest.raises(InvalidArguments, match="and 3 more"):
        check(tool, a=1, **{f"x{n}": n for n in range(8)})


@pytest.mark.parametrize("kind", [pd.DataFrame, np.ndarray, Connection, pd.Series])
def test_what_json_cannot_say_is_taken_by_reference(kind: type) -> None:
    schema = schema_of(one(kind))["properties"]["it"]

    assert schema == {"type": "string", "description": f"a reference: $VAR_REF{{{{name}}}} to a {kind.__name__}"}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (pd.DataFrame, pd.DataFrame({"a": [1]})),
        (pd.DataFrame | None, pd.DataFrame()),
        (Annotated[pd.DataFrame, "any"], pd.DataFrame()),
        (Connection, Connection()),
        (type, int),
        (Callable[[int], int], abs),
        (list[int], [1, 2]),
        (dict[str, Any], {"a": 1}),
        (int, np.int64(3)),
        (float, np.float64(0.5)),
        (Order, Order(item="tea")),
        (Any, Connection()),
        (str, "text"),
    ],
    ids=str,
)
def test_an_object_that_was_referred_to_arrives_as_itself(annotation: Any, value: Any) -> None:
    assert check_with(one(annotation), {"v": value}, it="$VAR_REF{{v}}")["it"] is value


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (pd.DataFrame, ["SECRET"], "a reference: .* to a DataFrame is expected; .*v}} is a list, 1 items"),
        (int, "SECRET", "integer is expected; .*v}} is a str, 6 characters"),
        (str, pd.DataFrame({"a": ["SECRET"]}), "string is expected"),
        (Literal["a"], "SECRET", "string is expected"),
        (int | None, "SECRET", "integer or null is expected"),
        (list[int], ["SECRET"], "array is expected"),
        (Fussy, "SECRET", "object is expected"),
    ],
)
def test_a_wrong_object_is_refused_and_its_values_are_not_told(annotation: Any, value: Any, message: str) -> None:
    for text in ("$VAR_REF{{v}}", "$VAR_REF{{v:0}}"):
        if annotation is str and text.endswith(":0}}"):
            continue
        with pytest.raises(InvalidArguments, match="is expected") as refusal:
            check_with(one(annotation), {"v": value}, it=text)
        assert "SECRET" not in str(refusal.value)
    with pytest.raises(InvalidArguments, match=message):
        check_with(one(annotation), {"v": value}, it="$VAR_REF{{v}}")


def test_references_may_stand_inside_lists_and_values() -> None:
    a, b, numbers = pd.DataFrame({"a": [1]}), pd.DataFrame(), [1, 2]
    objects = {"a": a, "b": b, "numbers": numbers, "n": 5}

    frames = check_with(one(list[pd.DataFrame]), objects, it=["$VAR_REF{{a}}", "$VAR_REF{{b}}"])["it"]
    anything = check_with(one(dict[str, Any]), objects, it={"x": ["$VAR_REF{{numbers}}"]})["it"]
    counts = check_with(one(list[int]), objects, it=["$VAR_REF{{n}}", 1])["it"]

    assert frames[0] is a
    assert frames[1] is b
    assert anything["x"][0] is numbers
    assert counts == [5, 1]


def test_a_reference_of_the_wrong_kind_inside_a_list_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="array is expected"):
        check_with(one(list[int]), {"v": ["SECRET"]}, it=["$VAR_REF{{v}}"])
    with pytest.raises(InvalidArguments, match="array is expected"):
        check_with(one(list[pd.DataFrame]), {"v": 3}, it=["$VAR_REF{{v}}"])


def test_a_reference_where_validation_keeps_no_container_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="give it whole"):
        check_with(one(Note), {"v": [1]}, it={"text": "$VAR_REF{{v}}"})
    live = [1]

    notes = check_with(one(list[Note]), {"v": live}, it=[{"text": {"deep": ["$VAR_REF{{v}}"]}}])["it"]

    assert notes[0].text["deep"][0] is live


def test_arguments_that_were_left_out_fall_to_the_defaults_of_the_function() -> None:
    def tool(a: int, b: list[int] = [1], c: int = None) -> tuple[Any, ...]:  # type: ignore[assignment]  # noqa: B006, RUF013
        return a, b, c

    assert call(tool, a=1) == (1, [1], None)
    assert call(tool, a=1, c=None) == (1, [1], None)
    assert call(tool, a=1, b=[], c=2) == (1, [], 2)


def test_every_kind_of_parameter_is_bound_as_python_does() -> None:
    def tool(a: int, /, b: int = 2, *rest: int, c: int, d: int = 4, **more: str) -> tuple[Any, ...]:
        return a, b, rest, c, d, more

    schema = schema_of(tool)

    assert schema["required"] == ["a", "c"]
    assert schema["properties"]["rest"]["type"] == "array"
    assert schema["additionalProperties"] == {"type": "string"}
    assert call(tool, a=1, c=3) == (1, 2, (), 3, 4, {})
    assert call(tool, a=1, rest=[7, 8], c=3, e="x") == (1, 2, (7, 8), 3, 4, {"e": "x"})
    with pytest.raises(InvalidArguments, match="'e': expected a valid string"):
        check(tool, a=1, c=3, e=5)


def test_unannotated_parameters_take_anything() -> None:
    def tool(it, *rest, **more):  # type: ignore[no-untyped-def]
        return it

    frame = pd.DataFrame()

    assert schema_of(tool)["properties"]["it"] == {}
    assert check(tool, it={"a": 1}) == {"it": {"a": 1}}
    assert check_with(tool, {"df": frame}, it="$VAR_REF{{df}}")["it"] is frame


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


def test_defaults_stand_in_the_schema_where_json_can_say_them() -> None:
    def tool(a: int = 3, b: object = Connection(), c: Color = Color.RED, d: float = float("nan")) -> None: ...

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        properties = schema_of(tool)["properties"]

    assert properties["a"]["default"] == 3
    assert "default" not in properties["b"]
    assert "default" not in properties["d"]


def test_local_classes_behind_postponed_annotations_are_found() -> None:
    class Local(BaseModel):
        n: int

    def tool(it: Local) -> Local:
        return it

    _ = Local

    with pytest.raises(BadUsage, match="cannot be resolved"):
        parameters_of(tool)

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
    with pytest.raises(BadUsage, match=r"annotation '3 \+' of the parameter 'it' cannot be resolved"):
        parameters_of(one("3 +"))
    with pytest.raises(BadUsage, match="cannot be described"):
        parameters_of(one(typing_only()))


def typing_only() -> Any:
    from typing import ClassVar

    return ClassVar[int]


def test_numbers_that_json_does_not_know_do_not_break_the_check() -> None:
    assert check(one(float), it=float("inf"))["it"] == float("inf")


def test_nesting_that_cannot_be_read_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    parameters = parameters_of(one(Any))[1]

    with pytest.raises(InvalidArguments, match="cannot be read"):
        parameters.check(Resolved({"it": deep}))
