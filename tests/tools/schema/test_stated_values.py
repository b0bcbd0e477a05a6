"""Types that contain themselves, values that JSON has not, and what an error says of a value that is refused."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import numpy as np
import pytest
import typing_extensions
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from nbtool.errors import BadUsage, InvalidArguments
from nbtool.tools.tool import as_tools
from tests.tools.signatures import check, one, schema_of


class Tree(TypedDict, total=False):
    name: str
    parts: list[Tree]


class Weighed(typing_extensions.TypedDict):
    weight: np.float64
    parts: NotRequired[list[Weighed]]


class First(TypedDict):
    second: NotRequired[Second | None]


class Second(TypedDict):
    first: First


class Mixed(enum.Enum):
    PAIR = (1, 2)
    DAY = dt.date(2024, 1, 2)
    RAW = b"raw"
    HALF = 0.5
    WORD = "word"
    NONE = None


@pytest.mark.parametrize(
    ("kind", "written", "wrong"),
    [
        (Tree, {"name": "a", "parts": [{"name": "b", "parts": []}]}, {"parts": [{"name": 1}]}),
        (dict[str, Tree], {"a": {"parts": [{}]}}, {"a": 1}),
        (Weighed, {"weight": 1.5, "parts": [{"weight": 2.5}]}, {"weight": 1.5, "parts": [{"weight": "a"}]}),
        (First, {"second": {"first": {"second": None}}}, {"second": {"first": 1}}),
    ],
)
def test_a_typed_dict_may_contain_itself(kind: Any, written: Any, wrong: Any) -> None:
    assert check(one(kind), it=written)["it"] == written
    assert "$ref" in str(schema_of(one(kind)))
    with pytest.raises(InvalidArguments):
        check(one(kind), it=wrong)


def test_an_alias_that_contains_itself_is_read_at_each_depth() -> None:
    alias: Any = typing_extensions.TypeAliasType("Nested", int)
    if type(alias).__module__ != "typing_extensions":
        names: dict[str, Any] = {"np": np}
        exec("type Nested = list[Nested] | np.float64", names)
        alias = names["Nested"]
    else:  # before Python 3.12 there is no syntax for it, and the name in a text is not looked up
        object.__setattr__(alias, "__value__", list[alias] | np.float64)

    assert check(one(alias), it=[1, [2.5]])["it"] == [np.float64(1), [np.float64(2.5)]]


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (Mixed, [1, 2], Mixed.PAIR),
        (Mixed, "2024-01-02", Mixed.DAY),
        (Mixed, "raw", Mixed.RAW),
        (Mixed, 0.5, Mixed.HALF),
        (Mixed, "word", Mixed.WORD),
        (Mixed, None, Mixed.NONE),
        (Literal[Mixed.WORD], "word", Mixed.WORD),
        (Literal[Mixed.PAIR, 3] | None, [1, 2], Mixed.PAIR),
        (Literal[Mixed.PAIR, 3], 3.0, 3),
        (Literal[b"raw"], "raw", b"raw"),
        (list[Literal[Mixed.DAY]], ["2024-01-02"], [Mixed.DAY]),
        (dict[Literal[1, "a"], int], {"1": 1, "a": 2}, {1: 1, "a": 2}),
        (dict[Mixed, int], {"word": 1, "0.5": 2, "2024-01-02": 3}, {Mixed.WORD: 1, Mixed.HALF: 2, Mixed.DAY: 3}),
    ],
)
def test_a_literal_or_a_member_is_read_in_its_form_of_the_schema(kind: Any, written: Any, value: Any) -> None:
    assert check(one(kind), it=written)["it"] == value


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [(Mixed, [2, 1]), (Mixed, "PAIR"), (Literal[b"raw"], "b'raw'"), (dict[Literal[1], int], {"2": 1}), (Mixed, False)],
)
def test_what_is_no_form_of_a_literal_or_a_member_is_refused(kind: Any, wrong: Any) -> None:
    with pytest.raises(InvalidArguments):
        check(one(kind), it=wrong)


def test_a_dict_in_place_of_a_type_is_refused_with_what_to_use() -> None:
    with pytest.raises(BadUsage, match="Use types that can be imported, a class, or Any"):
        check(one({"a": int}), it={"a": 1})


def _is_even(value: int) -> int:
    if value % 2:
        raise ValueError("an even number is needed")
    return value


@pytest.mark.parametrize(
    ("kind", "wrong", "text"),
    [
        (int, "5", "'it': expected a valid integer, got \"5\"."),
        (tuple[int, str], [1], "'it'[1] is missing."),
        (Annotated[str, Field(pattern="^a+$")], "b", "'it': String should match pattern '^a+$', got \"b\"."),
        (dict[Literal["a"], int], {"b": 1}, "'it'['b'] as a key: expected 'a', got \"b\"."),
        (Annotated[int, AfterValidator(_is_even)], 3, "'it': an even number is needed, got 3."),
    ],
)
def test_an_error_says_what_was_expected_or_what_the_check_says(kind: Any, wrong: Any, text: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        check(one(kind), it=wrong)

    assert str(refused.value).startswith(text)


def test_fields_may_have_the_names_of_the_parts_of_a_schema() -> None:
    names = ("type", "schema", "expected", "members", "keys_schema", "ref", "fields", "function", "default")
    kind = TypedDict("kind", dict.fromkeys(names, int))  # type: ignore[misc]  # the names are a list
    written = dict.fromkeys(names, 1)

    assert check(one(kind), it=written) == {"it": written}


class Access(enum.IntFlag):
    READ = 1
    WRITE = 2


class Channel(enum.Flag):
    """Colours of a screen."""

    RED = 1
    GREEN = 2
    BLUE = 4


@pytest.mark.parametrize("kind", [Access, Channel, list[Channel], Channel | None])
def test_the_schema_of_a_flag_says_that_its_members_are_added(kind: Any) -> None:
    schema = str(schema_of(one(kind)))

    assert "or the sum of several." in schema
    assert "enum" not in schema


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [(Access, 3, Access.READ | Access.WRITE), (Channel, 5, Channel.RED | Channel.BLUE), (Channel, 0, Channel(0))],
)
def test_members_of_a_flag_may_be_combined(kind: Any, written: int, value: Any) -> None:
    assert check(one(kind), it=written)["it"] == value
    with pytest.raises(InvalidArguments):
        check(one(kind), it="RED")


def test_a_sum_that_no_members_of_a_strict_flag_make_is_refused() -> None:
    with pytest.raises(InvalidArguments):
        check(one(Channel), it=8)


class Handle(enum.Enum):
    """Its members are objects, which have no form in JSON."""

    LEFT = object()
    RIGHT = object()  # noqa: PIE796 - another object


ByName = Annotated[
    Handle,
    BeforeValidator(lambda name: Handle.__members__.get(name, name)),
    WithJsonSchema({"type": "string", "enum": [*Handle.__members__]}),
]


def test_members_without_a_form_in_json_are_read_as_their_author_declares() -> None:
    for kind, written, value in ((ByName, "LEFT", Handle.LEFT), (list[ByName], ["RIGHT"], [Handle.RIGHT])):
        assert check(one(kind), it=written)["it"] == value
    assert schema_of(one(ByName))["properties"]["it"] == {"type": "string", "enum": ["LEFT", "RIGHT"]}
    with pytest.raises(InvalidArguments):
        check(one(ByName), it="UP")


def test_an_enum_whose_members_have_no_json_form_is_passed_by_reference() -> None:
    class Kind(enum.Enum):
        SHORT = range(3)
        OTHER = object()

    def use(kind: Kind) -> str:
        return kind.name

    (made,) = as_tools(use)

    assert made.spec["parameters"]["properties"]["kind"]["type"] == "string"
    assert "$VAR_REF{{name}}" in made.spec["parameters"]["properties"]["kind"]["description"]
