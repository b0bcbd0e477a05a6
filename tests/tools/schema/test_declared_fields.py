"""Declarations of pydantic in a signature mean what `validate_call` takes them for."""

# ruff: noqa: ARG001, ARG005, B008 - functions under test have parameters that they do not need, and declare defaults

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable
from typing import Annotated, Any, NamedTuple

import pandas as pd
import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    Field,
    RootModel,
    field_validator,
    validate_call,
)
from typing_extensions import TypedDict

from nbtool.errors import BadUsage, InvalidArguments
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import resolve, without_references
from nbtool.tools.variables.store import Variables
from tests.tools.signatures import check, check_with, one, schema_of


def call(function: Callable[..., Any], /, **arguments: Any) -> Any:
    parameters = parameters_of(function)[1]
    positional, keywords = parameters.bind(parameters.check(without_references(arguments)))
    return function(*positional, **keywords)


def by_default(city: str = Field(description="the city"), days: int = Field(default=3, ge=1)) -> Any:
    return city, days


def by_annotation(n: Annotated[int, Field(ge=1, description="how many")] = 3) -> Any:
    return n


def by_both(n: Annotated[int, Field(ge=1)] = Field(default=3, le=9)) -> Any:
    return n


def default_in_the_annotation(n: Annotated[int, Field(default=4)]) -> Any:
    return n


def made(xs: list[int] = Field(default_factory=list)) -> Any:
    return xs


def made_of_others(a: int, b: int = Field(default_factory=lambda data: data["a"] + 1)) -> Any:
    return a, b


def of_a_dataclass(
    n: int = dataclasses.field(default=7), xs: list[int] = dataclasses.field(default_factory=list)
) -> Any:
    return n, xs


def unannotated(n=Field(5)) -> Any:  # type: ignore[no-untyped-def]
    return n


def of_every_kind(
    a: int = Field(1),
    /,
    b: int = Field(2, le=5),
    *c: Annotated[int, Field(ge=1)],
    d: int = Field(4),
    **e: Annotated[int, Field(le=3)],
) -> Any:
    return a, b, c, d, e


def checked(
    name: Annotated[str, Field(description="who"), AfterValidator(str.upper)] = Field("q", max_length=2),
) -> Any:
    return name


def validated_default(n: int = Field(default="no number", validate_default=True)) -> Any:
    return n


CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (by_default, {"city": "Oslo"}),
    (by_default, {"city": "Oslo", "days": 5}),
    (by_default, {"city": "Oslo", "days": 0}),
    (by_default, {}),
    (by_annotation, {}),
    (by_annotation, {"n": 0}),
    (by_both, {}),
    (by_both, {"n": 0}),
    (by_both, {"n": 10}),
    (default_in_the_annotation, {}),
    (made, {}),
    (of_a_dataclass, {}),
    (unannotated, {}),
    (of_every_kind, {}),
    (of_every_kind, {"b": 6}),
    (of_every_kind, {"z": 2}),
    (of_every_kind, {"z": 9}),
    (checked, {}),
    (checked, {"name": "ab"}),
    (checked, {"name": "abc"}),
    (validated_default, {}),
]


@pytest.mark.parametrize(("function", "given"), CALLS, ids=lambda value: getattr(value, "__name__", None))
def test_a_call_is_what_validate_call_makes_of_it(function: Callable[..., Any], given: dict[str, Any]) -> None:
    try:
        expected = validate_call(function)(**given)
    except ValueError:
        with pytest.raises(InvalidArguments):
            call(function, **given)
    else:
        assert call(function, **given) == expected


def test_a_default_may_be_made_of_the_arguments_before_it() -> None:
    assert call(made_of_others, a=1) == (1, 2)
    assert call(one(Any, Field(default_factory=dict))) == {}


def test_the_schema_has_the_description_the_bounds_and_the_default_of_a_field() -> None:
    schema = schema_of(by_default)

    assert schema["required"] == ["city"]
    assert schema["properties"]["city"] == {"type": "string", "description": "the city"}
    assert schema["properties"]["days"] == {"type": "integer", "minimum": 1, "default": 3}
    assert schema_of(checked)["properties"]["name"]["maxLength"] == 2
    assert "default" not in schema_of(one(float, Field(default=float("nan"))))["properties"]["it"]


def test_a_parameter_has_the_name_of_its_alias_for_a_model_and_its_own_for_the_function() -> None:
    def send(from_: str = Field(alias="from"), to: str = Field("", validation_alias=AliasChoices("to", "at"))) -> Any:
        return from_, to

    def nested(x: str = Field(validation_alias=AliasPath("a", 0))) -> Any:
        return x

    def twice(a: str, b: str = Field(alias="a")) -> None: ...

    assert list(schema_of(send)["properties"]) == ["from", "to"]
    assert call(send, **{"from": "me", "to": "you"}) == ("me", "you")
    assert call(nested, x="1") == "1"
    with pytest.raises(InvalidArguments, match="'from_' is not expected"):
        call(send, from_="me")
    with pytest.raises(BadUsage, match="Two parameters of twice are called 'a'"):
        parameters_of(twice)


@pytest.mark.parametrize("default", [[1], {"a": 1}, Field(default=[1]), Field(default_factory=lambda: [1])])
def test_no_call_sees_what_another_did_to_a_default(default: Any) -> None:
    function = one(Any, default)

    call(function).clear()

    assert call(function)


def test_a_default_that_cannot_be_copied_is_passed_as_it_is() -> None:
    class Connection:
        __hash__ = None  # type: ignore[assignment]

        def __deepcopy__(self, memo: Any) -> None:
            raise TypeError("open")

    connection = Connection()

    assert call(one(Any, connection)) is connection


def test_a_default_that_another_framework_would_replace_is_refused_with_the_fix() -> None:
    class Depends:
        def __init__(self, dependency: Callable[[], Any]) -> None:
            self.dependency = dependency

    with pytest.raises(BadUsage, match=r"default of the parameter 'it' is .*Depends.*functools\.partial"):
        parameters_of(one(Any, Depends(dict)))


class Mail(BaseModel):
    to: Iterable[int]

    @field_validator("to", mode="after")
    @classmethod
    def check(cls, to: Iterable[int]) -> Iterable[int]:
        if sum(to) > 10:
            raise ValueError("too many")
        return to


class Tree(BaseModel):
    to: Iterable[int]
    branches: list[Tree] = []


class Typed(TypedDict):
    to: Iterable[int]


class Named(NamedTuple):
    to: Iterable[int]


class Root(RootModel[Iterable[int]]):
    pass


@dataclasses.dataclass
class Plain:
    to: Generator[int, None, None]


def first_of(value: Any) -> Any:
    return next(iter(value.values())) if isinstance(value, dict) else getattr(value, "to", None) or value.root


LAZY: list[tuple[Any, Any, Any, Callable[[Any], Any]]] = [
    (Iterable[int], [1, 2], ["x"], lambda value: value),
    (Generator[int, None, None], [1, 2], [1, "x"], lambda value: value),
    (Iterable[int] | None, [1, 2], ["x"], lambda value: value),
    (dict[str, Iterable[int]], {"a": [1, 2]}, {"a": [1, "x"]}, first_of),
    (list[Iterable[int]], [[1, 2]], [[1, "x"]], lambda value: value[0]),
    (tuple[Iterable[int], ...], [[1, 2]], [["x"]], lambda value: value[0]),
    (Mail, {"to": [1, 2]}, {"to": [11]}, first_of),
    (Typed, {"to": [1, 2]}, {"to": ["x"]}, first_of),
    (Named, {"to": [1, 2]}, {"to": ["x"]}, first_of),
    (Plain, {"to": [1, 2]}, {"to": ["x"]}, first_of),
    (Root, [1, 2], ["x"], first_of),
    (Annotated[Iterable[int], Field(min_length=1)], [1, 2], [], lambda value: value),
    (Annotated[Iterable[int], AfterValidator(lambda value: sum(value) and value)], [1, 2], ["x"], lambda value: value),
]


@pytest.mark.parametrize(
    ("annotation", "given", "wrong", "inner"), LAZY, ids=lambda value: getattr(value, "__name__", None)
)
def test_what_pydantic_would_validate_while_it_is_read_is_a_list_and_refused_at_once(
    annotation: Any, given: Any, wrong: Any, inner: Callable[[Any], Any]
) -> None:
    value = inner(check(one(annotation), it=given)["it"])

    assert [*value] == [*value] == [1, 2]
    assert type(value) is list
    with pytest.raises(InvalidArguments):
        check(one(annotation), it=wrong)


def test_a_lazy_part_of_a_recursive_model_is_a_list_at_each_level() -> None:
    tree = check(one(Tree), it={"to": [1], "branches": [{"to": [2]}]})["it"]

    assert (tree.to, tree.branches[0].to) == ([1], [2])
    assert not isinstance(Mail(to=[1]).to, list)  # the class itself is as it was
    assert Mail.__pydantic_complete__


def test_an_iterator_that_came_by_reference_is_not_read() -> None:
    numbers = iter([1, 2])

    assert check_with(one(Iterable[int]), {"n": numbers}, it="$VAR_REF{{n}}")["it"] is numbers
    assert [*numbers] == [1, 2]


def test_arguments_beside_a_reference_are_validated_with_their_defaults() -> None:
    def plot(frame: pd.DataFrame, days: int = Field(default=3, ge=1), **more: int) -> None: ...

    frame = pd.DataFrame()
    variables = Variables({"df": frame})
    variables.expose("df")
    parameters = parameters_of(plot)[1]

    for _ in range(2):
        values = parameters.check(resolve({"frame": "$VAR_REF{{df}}", "size": 1}, variables))
        assert values == {"frame": frame, "size": 1, "days": 3} or values["frame"] is frame
    with pytest.raises(InvalidArguments, match="'days': expected greater"):
        parameters.check(resolve({"frame": "$VAR_REF{{df}}", "days": 0}, variables))
    with pytest.raises(InvalidArguments, match="'other' is missing"):
        check_with(lambda frame, other: None, {"df": frame}, frame="$VAR_REF{{df}}")


def test_a_check_that_fails_otherwise_is_named_with_and_without_a_reference() -> None:
    def fail(value: Any) -> Any:
        raise TypeError("SECRET")

    function = one(Annotated[Any, AfterValidator(fail)])

    for given in ("x", "$VAR_REF{{df}}", ["$VAR_REF{{df}}"]):
        with pytest.raises(InvalidArguments, match="'it' cannot be read: TypeError"):
            check_with(function, {"df": pd.DataFrame()}, it=given)
