"""What a class declares about leaving holds in every text of its objects."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections import ChainMap, OrderedDict, UserDict, UserList, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pydantic.dataclasses
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    RootModel,
    SecretBytes,
    SecretStr,
    computed_field,
    field_serializer,
    model_serializer,
    model_validator,
)

from nbtool.messages import Media
from nbtool.tools.values.declared_form import MAX_CELLS, declared_form
from nbtool.tools.values.model_text import format_error, printed_text, render

T = TypeVar("T")


class User(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str = "Ada"
    password: str = Field(default="SECRET", exclude=True)
    born: int = 1990

    @computed_field
    @property
    def age(self) -> int:
        return 2026 - self.born


class Tags(RootModel[list[str]]):
    pass


class Temperature(BaseModel):
    celsius: float = 3.14159

    @field_serializer("celsius")
    def in_words(self, value: float) -> str:
        return f"{value:.1f} C"


class Renamed(BaseModel):
    model_config = ConfigDict(serialize_by_alias=True)

    name: str = Field(default="Ada", alias="Name")


class KeptName(BaseModel):
    name: str = Field(default="Ada", serialization_alias="Name")


class Locked(BaseModel):
    key: SecretStr = SecretStr("SECRET")
    raw: SecretBytes = SecretBytes(b"SECRET")


class Whole(BaseModel):
    key: str = "SECRET"

    @model_serializer
    def masked(self) -> dict[str, Any]:
        return {"key": "…"}


class Masked(BaseModel):
    key: Annotated[str, PlainSerializer(lambda _: "…", when_used="json")] = "SECRET"


class Overriding(BaseModel):
    key: str = "SECRET"

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"key": "…"}


class Unshown(BaseModel):
    name: str = "Ada"
    key: str = Field(default="SECRET", repr=False)

    @model_validator(mode="before")
    @classmethod
    def check(cls, values: Any) -> Any:
        return values

    @computed_field(repr=False)  # type: ignore[prop-decorator]  # as pydantic documents it
    @property
    def twice(self) -> str:
        return self.key * 2


class UnshownRoot(RootModel[str]):
    root: str = Field(default="SECRET", repr=False)


class Box(BaseModel, Generic[T]):
    item: T


@pydantic.dataclasses.dataclass
class Account:
    name: str = "Ada"
    password: str = Field(default="SECRET", exclude=True)
    key: str = Field(default="SECRET", repr=False)


@dataclasses.dataclass
class Typed:
    name: str = "Ada"
    password: Annotated[str, Field(exclude=True)] = "SECRET"


@dataclasses.dataclass
class Serialized:
    key: str = "SECRET"

    @field_serializer("key")
    def masked(self, _: str) -> str:
        return "…"


@dataclasses.dataclass
class OwnForm:
    key: str = "SECRET"

    def to_dict(self) -> dict[str, Any]:
        return {"key": "…"}


@attrs.define
class Customer:
    name: str = "Ada"
    key: str = attrs.field(default="SECRET", repr=False)
    code: str = attrs.field(default="SECRET", repr=lambda _: "…")


@attrs.define
class OwnCustomer:
    key: str = "SECRET"

    def __json__(self) -> dict[str, Any]:
        return {"key": "…"}


@dataclasses.dataclass
class Holder:
    user: Any = dataclasses.field(default_factory=User)
    key: str = dataclasses.field(default="SECRET", repr=False)


class Row(NamedTuple):
    user: User


FORMS: list[tuple[Any, Any]] = [
    (User(city="Oslo"), {"name": "Ada", "born": 1990, "city": "Oslo", "age": 36}),  # type: ignore[call-arg]  # extra
    (Tags(["a", "b"]), ["a", "b"]),
    (Temperature(), {"celsius": "3.1 C"}),
    (Renamed(Name="Bob"), {"Name": "Bob"}),
    (KeptName(), {"name": "Ada"}),
    (Locked(), {"key": "**********", "raw": "**********"}),
    (Whole(), {"key": "…"}),
    (Masked(), {"key": "…"}),
    (Overriding(), {"key": "…"}),
    (Unshown(), {"name": "Ada"}),
    (Box[UnshownRoot](item=UnshownRoot()), {"item": None}),
    (Box[Unshown](item=Unshown()), {"item": {"name": "Ada"}}),
    (Box[list[User]](item=[User()]), {"item": [{"name": "Ada", "born": 1990, "age": 36}]}),
    (Box[Any](item=Unshown()), {"item": {"name": "Ada"}}),
    (Box[dict](item={"a": OwnForm()}), {"item": {"a": {"key": "…"}}}),  # type: ignore[type-arg]  # of any items
    (Box[list](item=[Customer()]), {"item": [{"name": "Ada", "code": "…"}]}),  # type: ignore[type-arg]  # as above
    (Box[tuple](item=(OwnForm(),)), {"item": [{"key": "…"}]}),  # type: ignore[type-arg]  # as above
    (Box[OwnForm](item=OwnForm()), {"item": {"key": "…"}}),
    (Box[Media](item=Media("image/png", b"SECRET")), {"item": "image/png, 6 bytes"}),
    (User(extra=Holder("x")), {"name": "Ada", "born": 1990, "extra": {"user": "x"}, "age": 36}),  # type: ignore[call-arg]  # extra
    (Account(), {"name": "Ada"}),
    (Typed(), {"name": "Ada"}),
    (Serialized(), {"key": "…"}),
    (OwnForm(), {"key": "…"}),
    (Customer(), {"name": "Ada", "code": "…"}),
    (OwnCustomer(), {"key": "…"}),
    (Holder(), {"user": {"name": "Ada", "born": 1990, "age": 36}}),
    (Row(User()), {"user": {"name": "Ada", "born": 1990, "age": 36}}),
]

PLACES: list[Callable[[Any], Any]] = [
    lambda value: value,
    lambda value: [value],
    lambda value: {"a": {"b": (value,)}},
    lambda value: deque([value]),
    lambda value: OrderedDict(a=value),
    lambda value: UserDict(a=value),
    lambda value: UserList([value]),
    lambda value: ChainMap({"a": value}),
    lambda value: MappingProxyType({"a": value}),
    lambda value: SimpleNamespace(a=value),
    lambda value: {"a": value}.values(),
    lambda value: {"a": value}.items(),
    lambda value: Holder(value),
    lambda value: Box[Any](item=value),
    lambda value: Customer(name=value),
    lambda value: pd.DataFrame({"a": [1], "b": pd.Series([value], dtype=object)}),
    lambda value: pd.Series([[value]], dtype=object),
    lambda value: pl.DataFrame({"a": pl.Series([value], dtype=pl.Object)}),
    lambda value: np.array([[value, None]], dtype=object),
    lambda value: pd.Index([value], dtype=object, tupleize_cols=False),
    ValueError,
    lambda value: ValueError("bad", {"a": value}),
    lambda value: [KeyError(value)],
    lambda value: ExceptionGroup("several", [LookupError([value])]),
]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    else:
        yield "null" if value is None else str(value)


@pytest.mark.parametrize(("value", "form"), FORMS, ids=lambda value: type(value).__name__)
def test_a_record_is_what_its_class_declares(value: Any, form: Any) -> None:
    assert json.loads(render(value).text) == form


@pytest.mark.nightly
@pytest.mark.rest
@pytest.mark.promise("declared-form")
@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("value", [value for value, _ in FORMS], ids=lambda value: type(value).__name__)
def test_what_a_class_keeps_back_leaves_from_no_place(value: Any, place: int) -> None:
    holder = PLACES[place](value)
    form = next(form for one, form in FORMS if one is value)

    text = render(holder).text

    assert "SECRET" not in text
    if not isinstance(holder, pd.Series):  # pandas shortens its cells
        assert all(part in text.replace('\\"', '"') for part in strings(form))


@pytest.mark.promise("declared-form")
@settings(max_examples=150)
@given(
    value=st.sampled_from([value for value, _ in FORMS]),
    places=st.lists(st.sampled_from(PLACES), min_size=1, max_size=3),
)
def test_what_a_class_keeps_back_leaves_from_no_place_in_another_place(
    value: Any, places: list[Callable[[Any], Any]]
) -> None:
    holder = value
    for place in places:
        holder = place(holder)

    assert "SECRET" not in render(holder).text
    assert "SECRET" not in printed_text(holder, 2_000)
    assert "SECRET" not in format_error(holder if isinstance(holder, Exception) else ValueError(holder))


@dataclasses.dataclass
class Refused(Exception):
    code: int
    key: str = dataclasses.field(default="SECRET", repr=False)


@attrs.define(auto_exc=True)
class Denied(Exception):
    code: int
    key: str = attrs.field(default="SECRET", repr=False)


@pytest.mark.promise("declared-form")
@pytest.mark.parametrize("error", [Refused(5), Refused(5, "SECRET"), Denied(5)], ids=repr)
def test_an_exception_that_is_a_record_says_the_fields_that_its_representation_shows(error: Exception) -> None:
    assert format_error(error) == f'{type(error).__name__}: {{"code": 5}}'
    assert render([error]).text == '[{"code": 5}]'
    assert printed_text(error, 100) == '{"code": 5}'


def use(value: object) -> object:
    return value


HOLDERS: list[Callable[[Any], Any]] = [
    lambda value: partial(use, value),
    lambda value: partial(use, value={"a": [value]}),
    lambda value: inspect.signature(use).bind(value),
    lambda value: slice(value, None),
    lambda value: ContextVar("held", default=value),
]


@pytest.mark.promise("declared-form")
@pytest.mark.parametrize("hold", HOLDERS)
def test_an_object_that_the_standard_library_would_show_with_a_record_in_it_is_named(
    hold: Callable[[Any], Any],
) -> None:
    holder = hold(User())
    text = f"{type(holder).__name__}: not shown, because its text would have fields that a class in it keeps back"

    assert render(holder).text == text
    assert not render(holder).is_complete
    assert render([holder]).text == json.dumps([text])
    assert printed_text(holder, 1_000) == text


def test_an_object_of_the_standard_library_without_a_record_in_it_has_its_own_text() -> None:
    assert render(partial(print, 1)).text == "functools.partial(<built-in function print>, 1)"
    assert render(slice(1, None)).text == "slice(1, None, None)"


class Broken(BaseModel):
    key: str = "SECRET"

    @field_serializer("key")
    def fail(self, value: str) -> str:
        raise ValueError(value)


class Odd:
    def __repr__(self) -> str:
        return "Odd()"


class Arbitrary(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    frame: pd.DataFrame = Field(default_factory=pd.DataFrame)
    odd: Any = Field(default_factory=Odd)


def made_dataclass(annotation: str) -> Any:
    kind = type("Made", (), {"__annotations__": {"key": annotation}, "key": "SECRET"})
    return dataclasses.dataclass(kind)()


@pytest.mark.promise("declared-form")
def test_of_a_record_whose_serializer_fails_only_that_leaves() -> None:
    rendered = render([Broken(), 3])

    assert "Broken: " in rendered.text
    assert "(PydanticSerializationError)" in rendered.text
    assert "SECRET" not in rendered.text
    assert rendered.text.endswith(", 3]")
    assert not rendered.is_complete


def test_a_dataclass_whose_annotations_cannot_be_read_has_no_form_if_it_may_declare_one() -> None:
    assert "SECRET" not in render(made_dataclass("Annotated[str, Missing]")).text
    assert json.loads(render(made_dataclass("Missing")).text) == {"key": "SECRET"}


def test_an_object_that_pydantic_does_not_know_is_described_inside_a_model() -> None:
    assert json.loads(render(Arbitrary()).text) == {"frame": {"columns": [], "rows": []}, "odd": "Odd()"}


def test_what_is_no_record_has_no_declared_form() -> None:
    with pytest.raises(LookupError):
        declared_form(3)


def test_a_part_of_a_table_or_a_line_is_itself_unless_a_class_in_it_declares_its_form() -> None:
    nested: list[Any] = []
    for _ in range(30):
        nested = [nested]

    assert printed_text([1, "a", None], 100) == "[1, 'a', None]"
    assert printed_text(Odd(), 100) == "Odd()"
    assert printed_text({"a": Row(Whole())}, 100) == '{"a": {"user": {"key": "…"}}}'  # type: ignore[arg-type]  # any model
    assert "deep" not in printed_text(nested, 1_000)


def test_a_struct_of_msgspec_is_what_msgspec_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Struct:
        __struct_fields__ = ("first_name",)

        def __init__(self) -> None:
            self.first_name, self.inner = "Ada", Odd()

    library = ModuleType("msgspec")
    library.to_builtins = lambda value, *, str_keys, enc_hook: {  # type: ignore[attr-defined]  # as msgspec's
        "firstName": value.first_name,
        "inner": enc_hook(value.inner),
        "str_keys": str_keys,
    }
    monkeypatch.setitem(sys.modules, "msgspec", library)

    assert json.loads(render(Struct()).text) == {"firstName": "Ada", "inner": "Odd()", "str_keys": True}


def test_a_dataclass_is_read_where_pydantic_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic")

    assert json.loads(render(Holder(3)).text) == {"user": 3}


class Login(BaseModel):
    name: str
    pin: str = Field(exclude=True)


@pytest.mark.promise("withheld")
@pytest.mark.parametrize("column", [[Login(name="ada", pin="4711")], ["ada", Login(name="ada", pin="4711")]])
def test_what_a_class_excludes_is_not_in_the_table_of_an_error(column: list[object]) -> None:
    table = pd.DataFrame({"account": pd.Series(column, dtype=object)})
    index = pd.Series([1], index=pd.Index([Login(name="ada", pin="4711")], dtype=object))

    for value in (ValueError("no", table), ValueError("no", index), KeyError(np.array(column, dtype=object))):
        assert "4711" not in render(value).text


def test_a_table_with_more_objects_than_are_looked_at_is_described_in_an_error() -> None:
    column = pd.Series(["x"] * MAX_CELLS, dtype=object)

    assert "0        x" in render(ValueError("no", pd.DataFrame({"name": column}))).text
    assert (
        "DataFrame, 100,001 rows" in render(ValueError("no", pd.DataFrame({"name": [*column, "y"]}, dtype=object))).text
    )
