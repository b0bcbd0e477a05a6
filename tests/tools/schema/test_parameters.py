"""Arguments against signatures: what fits is a value, what does not is refused in words."""

# ruff: noqa: ARG001 - tools under test have parameters that they do not need

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict, TypeVar

import docstring_parser
import numpy as np
import pandas as pd
import pytest
from pydantic import Field

from nbtool.errors import InvalidArguments
from nbtool.tools import tool
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import ResolvedArguments, resolve, without_references
from nbtool.tools.variables.store import Variables
from tests.tools.signatures import Color, Fussy, Order, Point, check, check_with, one, schema_of

T = TypeVar("T")


class Options(TypedDict):
    depth: int
    name: NotRequired[str]


def call(function: Callable[..., Any], /, **arguments: Any) -> Any:
    parameters = parameters_of(function)[1]
    positional, keywords = parameters.bind(parameters.check(without_references(arguments)))
    return function(*positional, **keywords)


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
        (int, "x" * 500, "characters more]"),
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
    with pytest.raises(InvalidArguments, match=r"^'it'\['frame'\] is missing\."):
        check_with(one(Deep), {"df": frame}, it={})


def test_missing_and_unexpected_arguments_are_all_named() -> None:
    def tool(a: int, b: int = 0) -> None: ...

    with pytest.raises(InvalidArguments, match=r"'a' is missing; 'c' is not expected\. Parameters: a, b \(optional\)"):
        check(tool, c=1)
    with pytest.raises(InvalidArguments, match="and 3 more"):
        check(tool, a=1, **{f"x{n}": n for n in range(8)})


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


def test_numbers_that_json_does_not_know_do_not_break_the_check() -> None:
    assert check(one(float), it=float("inf"))["it"] == float("inf")


def test_nesting_that_cannot_be_read_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    parameters = parameters_of(one(Any))[1]

    with pytest.raises(InvalidArguments, match="cannot be read"):
        parameters.check(ResolvedArguments({"it": deep}))


@tool
def look(n: int) -> int:
    """Look."""
    return n


def test_a_docstring_that_cannot_be_parsed_is_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> None:
        raise docstring_parser.ParseError("no")

    monkeypatch.setattr(docstring_parser, "parse", refuse)

    def odd(n: int) -> None:
        """Odd: as it is."""

    description, parameters = parameters_of(odd)
    assert description == "Odd: as it is."
    assert parameters.schema["properties"]["n"] == {"type": "integer"}


@pytest.mark.parametrize(
    ("value", "is_taken"), [(np.int64(3), True), (np.array(3), True), (np.array([3]), False), (3.5, False)]
)
def test_a_number_of_numpy_passes_for_a_number(value: Any, is_taken: bool) -> None:
    variables = Variables({"n": value})
    variables.expose("n")
    _, parameters = parameters_of(look)
    resolved = resolve({"n": "$VAR_REF{{n}}"}, variables)

    if is_taken:
        assert parameters.check(resolved)["n"] is value
    else:
        with pytest.raises(InvalidArguments, match="integer is expected"):
            parameters.check(resolved)
