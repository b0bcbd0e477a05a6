"""What type variables, names for types and unpacked arguments stand for."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Annotated, Any, Generic, NewType, NotRequired, ParamSpec, TypeVar

import numpy as np
import pandas as pd
import pytest
from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict, TypeVarTuple, Unpack

from nbtool.errors import InvalidArguments
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.schema.stated_values import MAX_DIGITS, MAX_EXACT, as_integer
from nbtool.tools.schema.type_variables import substitute
from nbtool.tools.variables.references import without_references
from tests.tools.signatures import Point, check, one, schema_of

Given = ParamSpec("Given")
Several = TypeVarTuple("Several")
Late = TypeVar("Late", bound="Defined")
Item = TypeVar("Item")


class Defined(str):
    pass


class Nested:
    class Inner:
        @staticmethod
        def use(it: Defined) -> str:
            return it


class Store(Generic[Item]):
    def put(self, what: Annotated[Item, Field(description="what")], more: list[Item] | None = None) -> Any:
        return what, more


class Numbers(Store[int]):
    pass


class Column(TypedDict, Generic[Item]):
    value: Item
    note: NotRequired[str]


Odd = TypedDict("Odd", {"from": str, "page-size": NotRequired[int]})


def call(function: Any, /, **arguments: Any) -> Any:
    parameters = parameters_of(function)[1]
    positional, keywords = parameters.bind(parameters.check(without_references(arguments)))
    return function(*positional, **keywords)


def test_a_bound_that_is_a_text_is_looked_up_in_the_module_of_the_variable() -> None:
    assert type(check(one(Late), it="a")["it"]) is Defined


def test_what_says_nothing_of_one_argument_admits_everything() -> None:
    def pass_on(*args: Given.args, **keywords: Given.kwargs) -> Any:  # type: ignore[valid-type]  # of no Callable
        return args, keywords

    def several(*args: *Several) -> Any:
        return args

    assert call(pass_on, args=[1, "a"], more=2) == ((1, "a"), {"more": 2})
    assert call(several, args=[1, "a"]) == (1, "a")


def test_a_declared_type_variable_is_that_of_the_class_that_was_given_types() -> None:
    schema = schema_of(Numbers().put)["properties"]

    assert schema["what"] == {"type": "integer", "description": "what"}
    assert schema["more"]["anyOf"][0] == {"type": "array", "items": {"type": "integer"}}
    assert call(Numbers().put, what=2.0, more=[1.0]) == (2, [1])
    assert schema_of(Store[str]().put)["properties"]["what"]["type"] == "string"
    assert substitute(Annotated[int, Field(ge=1)], {}) is not None


def test_the_keys_of_a_generic_typed_dict_have_the_types_that_it_was_given() -> None:
    def set_column(**column: Unpack[Column[np.int64]]) -> Any:
        return column

    def set_table(table: Column[pd.Timestamp]) -> Any:
        return table

    assert call(set_column, value=2.0) == {"value": np.int64(2)}
    assert call(set_table, table={"value": "2026-01-02"}) == {"value": pd.Timestamp("2026-01-02")}


def test_keys_that_are_no_identifiers_are_parameters_too() -> None:
    def send(**options: Unpack[Odd]) -> Any:
        return options

    assert schema_of(send)["required"] == ["from"]
    assert call(send, **{"from": "me", "page-size": 5.0}) == {"from": "me", "page-size": 5}
    with pytest.raises(InvalidArguments, match="'from' is missing"):
        call(send)


def test_a_declared_name_for_a_type_of_a_library_has_its_range_in_the_schema() -> None:
    rate = NewType("rate", np.float64)

    assert schema_of(one(Annotated[rate, Field(le=1)]))["properties"]["it"] == {"type": "number", "maximum": 1}


def test_the_names_of_a_nested_class_are_found_from_its_static_methods() -> None:
    assert type(check(Nested.Inner.use, it="a")["it"]) is Defined


def test_a_class_that_pydantic_reads_itself_stays_its_own() -> None:
    assert check(one(Point), it={"x": 1.0})["it"] == Point(1)


def test_a_dispatched_function_without_parameters_has_none() -> None:
    assert schema_of(functools.singledispatch(lambda: None))["properties"] == {}


def test_an_integer_that_may_have_lost_digits_is_refused() -> None:
    assert as_integer(1e20) == 10**20
    assert as_integer(float(MAX_EXACT)) == MAX_EXACT
    assert check(one(int), it=1e300)["it"] == 10**300
    with pytest.raises(InvalidArguments, match="an integer with all of its digits"):
        check(one(int), it=12345678901234567890.0)
    assert MAX_DIGITS == 15


def test_keys_of_an_object_are_read_as_before() -> None:
    assert check(one(dict[int, int]), it={"1": 2.0})["it"] == {1: 2}
    with pytest.raises(InvalidArguments):
        check(one(dict[int, int]), it={"one": 2})


def test_an_alias_of_types_by_reference_is_looked_into() -> None:
    frames = TypeAliasType("frames", dict[str, pd.DataFrame])
    many = TypeAliasType("many", list[Item], type_params=(Item,))  # type: ignore[misc]  # made at run time

    assert "a reference" in schema_of(one(frames))["properties"]["it"]["additionalProperties"]["description"]
    assert check(one(many[np.int64]), it=[1.0])["it"] == [np.int64(1)]
    assert check(one(many[np.int64]), it=[2])["it"] == [np.int64(2)]


def test_a_class_of_fields_that_is_made_of_others_is_passed_by_reference() -> None:
    @dataclasses.dataclass
    class Own:
        rate: np.float64

        def __init__(self, text: str) -> None:
            self.rate = np.float64(text)

    Own.__annotations__["rate"] = np.float64

    assert schema_of(one(Own))["properties"]["it"]["description"].startswith("a reference")


def test_a_function_in_c_has_the_parameters_that_it_states() -> None:
    assert list(schema_of(math.sqrt)["properties"]) == ["x"]


class Bag(Generic[*Several]):
    def put(self, *args: Any) -> Any:
        return args

    put.__annotations__["args"] = Several  # as it is written by mistake, without a star


class Counts(Bag[*tuple[int, ...]]):
    pass


def test_type_variables_without_their_star_mean_the_types_of_each_positional_argument() -> None:
    assert schema_of(Counts().put)["properties"]["args"] == {"type": "array", "items": {"type": "integer"}}
    assert call(Counts().put, args=[1, 2.0]) == (1, 2)
    with pytest.raises(InvalidArguments):
        check(Counts().put, args=[1, "a"])
