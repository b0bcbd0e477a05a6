"""A scalar class of a library takes what a model writes, if its value is equal to it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import fractions
import functools
import numbers
from typing import Annotated, Any, NamedTuple, Protocol, SupportsIndex, runtime_checkable

import numpy as np
import pandas as pd
import pytest
from pydantic import AfterValidator, Field, SecretStr

from nbtool.errors import InvalidArguments
from nbtool.tools.schema.declared_field import MAX_DEFAULT
from nbtool.tools.schema.scalars import make_scalar
from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import without_references
from tests.tools.signatures import check, check_with, one, schema_of


class Percent(float):
    def __new__(cls, value: float) -> Percent:
        return super().__new__(cls, min(value, 100))


class Code(str):
    def __new__(cls, text: str) -> Code:
        if not text.isupper():
            raise ValueError("SECRET")
        return super().__new__(cls, text)


class Exact:
    """A number of a library that Python's `numbers` do not know."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value

    def __add__(self, other: Any) -> Exact:
        return Exact(self.value + float(other))

    def __mul__(self, other: Any) -> Exact:
        return Exact(self.value * float(other))

    def __eq__(self, other: object) -> bool:
        return float(other) == self.value  # type: ignore[arg-type]  # a double

    __hash__ = None  # type: ignore[assignment]


class Formula(Exact):
    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]


class Moment:
    """A date of a library that is not a subclass of Python's, such as that of `arrow`."""

    def __init__(self, moment: dt.datetime) -> None:
        self.moment = moment

    @classmethod
    def fromdatetime(cls, moment: dt.datetime) -> Moment:
        return cls(moment)

    def isoformat(self) -> str:
        return self.moment.isoformat()

    def __eq__(self, other: object) -> bool:
        return self.moment == getattr(other, "moment", other)

    __hash__ = None  # type: ignore[assignment]


class MomentInUtc(Moment):
    """A moment that is in UTC where no zone is said."""

    tzinfo = dt.UTC

    def __init__(self, moment: dt.datetime) -> None:
        super().__init__(moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC))


class Clock:
    """A time of day of a library, which reads its own text."""

    hour = 0

    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def fromisoformat(cls, text: str) -> Clock:
        return cls(text)

    def isoformat(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return self.text == getattr(other, "text", None) or self.text == getattr(other, "isoformat", str)()

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass
class Tree:
    """Contains itself, so that it is passed by reference."""

    value: np.float64
    branches: list[Tree]


class Calendar:
    """Says a date, and is not made of one."""

    def isoformat(self) -> str:
        return ""


class Elapsed(dt.timedelta):
    pass


class Day(dt.date):
    pass


@pytest.mark.parametrize(
    ("kind", "written", "expected"),
    [
        (np.float32, 0.1, np.float32(0.1)),
        (np.longdouble, 0.1, np.longdouble(0.1)),
        (np.int8, -128, np.int8(-128)),
        (np.uint64, 2**63, np.uint64(2**63)),
        (np.str_, "a", np.str_("a")),
        (np.bytes_, "a", np.bytes_(b"a")),
        (np.complex128, "1+2j", np.complex128(1 + 2j)),
        (np.number, 2, np.int64(2)),
        (np.floating, 2, np.float64(2)),
        (np.generic, "a", np.str_("a")),
        (np.timedelta64, "PT1H", np.timedelta64(dt.timedelta(hours=1))),
        (np.datetime64, "2026-01-02T02:00:00+02:00", np.datetime64("2026-01-02T00:00:00.000000")),
        (np.datetime64, "2026-01-02T00:00:00.123456789Z", np.datetime64("2026-01-02T00:00:00.123456789")),
        (pd.Period, "2026-01", pd.Period("2026-01", "M")),
        (Exact, 2.5, Exact(2.5)),
        (Moment, "2026-01-02T03:04:05", Moment(dt.datetime(2026, 1, 2, 3, 4, 5))),
        (MomentInUtc, "2026-01-02", MomentInUtc(dt.datetime(2026, 1, 2, tzinfo=dt.UTC))),
        (Clock, "03:04:05", Clock("03:04:05")),
        (Elapsed, "P1DT1S", Elapsed(1, 1)),
        (Day, "2026-01-02", Day(2026, 1, 2)),
        (fractions.Fraction, 0.5, fractions.Fraction(1, 2)),
        (decimal.Decimal, "0.10", decimal.Decimal("0.10")),
        (numbers.Integral, 3.0, 3),
        (SupportsIndex, 3, 3),
        (Code, "EUR", Code("EUR")),
    ],
)
def test_what_is_written_becomes_an_equal_value_of_the_class(kind: Any, written: Any, expected: Any) -> None:
    value = check(one(kind), it=written)["it"]

    assert type(value) is type(expected)
    assert value == expected


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (np.int8, 128),
        (np.uint8, -1),
        (np.uint64, 2**64),
        (np.float16, 1e9),
        (np.float32, 1e300),
        (np.float32, 1e-300),
        (np.int64, 1.5),
        (np.bool_, 1),
        (pd.Timestamp, "NaT"),
        (pd.Timestamp, 5),
        (pd.Period, "no period"),
        (Percent, 150),
        (Code, "eur"),
        (numbers.Rational, 0.5),
        (Exact, "2.5"),
        (Day, "2026-02-30"),
    ],
)
def test_what_has_no_equal_value_of_the_class_is_refused(kind: Any, written: Any) -> None:
    with pytest.raises(InvalidArguments, match="'it': expected") as refused:
        check(one(kind), it=written)

    assert "SECRET" not in str(refused.value)


def test_a_class_with_a_value_that_is_not_made_of_one_is_passed_by_reference() -> None:
    for kind in (
        Formula,
        Calendar,
        Tree,
        np.ndarray,
        np.void,
        np.object_,
        pd.Series,
        pd.DataFrame,
        dt.tzinfo,
        pd.Interval,
    ):
        assert schema_of(one(kind))["properties"]["it"]["description"].startswith("a reference")


def test_a_declared_range_is_in_the_schema_and_holds_for_what_is_written() -> None:
    percent = Annotated[np.float64, Field(ge=0, le=100, description="in percent")]

    assert schema_of(one(percent))["properties"]["it"] == {
        "type": "number", "minimum": 0, "maximum": 100, "description": "in percent",
    }  # fmt: skip
    for annotation in (
        percent,
        Annotated[np.float64 | None, Field(ge=0)],
        Annotated[np.float64 | None, Field(ge=0)],
    ):
        with pytest.raises(InvalidArguments, match="greater than or equal to 0"):
            check(one(annotation), it=-1)
        assert check(one(annotation), it=1)["it"] == 1
    assert check(one(Annotated[np.float64 | None, Field(ge=0)]), it=None)["it"] is None


def test_a_validator_of_the_author_gets_a_value_of_the_class() -> None:
    doubled = Annotated[np.int64, Field(ge=1), AfterValidator(lambda value: (type(value), value * 2))]

    assert check(one(doubled), it=3.0)["it"] == (np.int64, 6)


def test_an_object_that_came_by_reference_stays_itself() -> None:
    stamp = pd.Timestamp("2026-01-02")

    assert check_with(one(pd.Timestamp), {"s": stamp}, it="$VAR_REF{{s}}")["it"] is stamp
    assert check_with(one(list[pd.Timestamp]), {"s": stamp}, it=["$VAR_REF{{s}}", "2026-01-03"])["it"][0] is stamp
    assert check_with(one(np.float64), {"s": np.float64(2)}, it="$VAR_REF{{s}}")["it"] == 2
    with pytest.raises(InvalidArguments, match="is a str"):
        check_with(one(np.float64), {"s": "text"}, it="$VAR_REF{{s}}")
    with pytest.raises(InvalidArguments, match="is a DataFrame"):
        check_with(one(np.float64), {"s": pd.DataFrame()}, it="$VAR_REF{{s}}")


def test_a_protocol_is_checked_by_its_members() -> None:
    class Model(Protocol):
        def predict(self, rows: Any) -> Any: ...

    @runtime_checkable
    class Upper(Protocol):
        def upper(self) -> str: ...

    class Constant:
        def predict(self, rows: Any) -> Any:
            return rows

    model = Constant()

    assert check_with(one(Model), {"m": model}, it="$VAR_REF{{m}}")["it"] is model
    with pytest.raises(InvalidArguments, match="to a Model is expected"):
        check_with(one(Model), {"m": object()}, it="$VAR_REF{{m}}")
    assert check(one(Upper), it="a")["it"] == "a"


def test_a_class_of_fields_is_made_of_them() -> None:
    class Run(NamedTuple):
        rate: np.float64
        since: pd.Timestamp | None = None

    Run.__annotations__ = {"rate": np.float64, "since": pd.Timestamp | None}
    run = check(one(Run), it={"rate": 1, "since": "2026-01-02"})["it"]

    assert run == Run(np.float64(1.0), pd.Timestamp("2026-01-02"))
    assert check(one(list[Run]), it=[{"rate": 1}])["it"] == [Run(np.float64(1.0))]
    for wrong, why in (({}, "rate: is missing"), ({"rate": "a"}, "rate: expected"), ({"rate": 1, "z": 1}, "z: Extra")):
        with pytest.raises(InvalidArguments, match=why):
            check(one(Run), it=wrong)


def test_a_default_of_a_scalar_is_stated_and_passed_as_it_is() -> None:
    default = np.float64(0.5)

    assert schema_of(one(np.float64, default))["properties"]["it"]["default"] == 0.5
    for annotation, value in ((SecretStr, SecretStr("key")), (Any, object()), (float, float("inf")), (pd.Series, 1j)):
        assert "default" not in schema_of(one(annotation, value))["properties"]["it"]
    assert "default" not in schema_of(one(bytes, b"x" * (MAX_DEFAULT + 1)))["properties"]["it"]
    assert schema_of(one(bytes, b"x"))["properties"]["it"]["default"] == "x"


def test_a_dispatched_function_takes_each_of_its_types_by_position() -> None:
    @functools.singledispatch
    def show(value: int, unit: str = "m") -> str:
        return f"int {value} {unit}"

    @show.register
    def _(value: str, unit: str = "m") -> str:
        return f"str {value} {unit}"

    class Shop:
        @functools.singledispatchmethod
        def buy(self, what: int, count: int = 1) -> str:
            return f"number {what} {count}"

        @buy.register
        def _(self, what: str, count: int = 1) -> str:
            return f"name {what} {count}"

    for function, given, expected in (
        (show, {"value": 1}, "int 1 m"),
        (show, {"value": "a", "unit": "s"}, "str a s"),
        (Shop().buy, {"what": 2.0, "count": 3}, "number 2 3"),
        (Shop().buy, {"what": "tea"}, "name tea 1"),
    ):
        parameters = parameters_of(function)[1]
        positional, keywords = parameters.bind(parameters.check(without_references(given)))
        assert function(*positional, **keywords) == expected


def test_a_decorator_gets_its_arguments_as_it_takes_them() -> None:
    def add(a: int, b: int = 2) -> int:
        return a + b

    def by_position(function: Any) -> Any:
        return functools.wraps(function)(lambda *args: function(*args))

    def by_keyword(function: Any) -> Any:
        return functools.wraps(function)(lambda **keywords: function(**keywords))

    def by_both(function: Any) -> Any:
        return functools.wraps(function)(lambda *args, **keywords: function(args[0], **keywords, b=args[1]))

    for decorate in (by_position, by_keyword, by_both):
        decorated = decorate(add)
        parameters = parameters_of(decorated)[1]
        positional, keywords = parameters.bind(parameters.check(without_references({"a": 1, "b": 3})))
        assert decorated(*positional, **keywords) == 4


def test_no_value_is_made_where_the_class_makes_another_one() -> None:
    with pytest.raises(ValueError, match="no value of Percent"):
        make_scalar(Percent, 150.0, 150)


def test_a_declared_length_of_a_container_of_scalars_is_in_the_schema_and_holds() -> None:
    prices = one(Annotated[dict[str, np.float64], Field(min_length=1)])

    assert schema_of(prices)["properties"]["it"] == {
        "type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1,
    }  # fmt: skip
    price = check(prices, it={"a": 1})["it"]["a"]
    assert (type(price), price) == (np.float64, 1.0)
    with pytest.raises(InvalidArguments, match="at least 1 item"):
        check(prices, it={})
