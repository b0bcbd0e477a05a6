"""What the tests of schemas share: types, functions of one parameter, and how arguments are checked."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field, field_validator

from nbtool.tools.schema.signature import parameters_of
from nbtool.tools.variables.references import resolve, without_references
from nbtool.tools.variables.store import Variables


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Order(BaseModel):
    item: str
    count: int = Field(default=1, ge=1)


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
    return parameters_of(function)[1].check(without_references(arguments))


def check_with(function: Callable[..., Any], objects: Mapping[str, Any], /, **arguments: Any) -> dict[str, Any]:
    variables = Variables()
    for name, value in objects.items():
        variables.expose(name, value)
    return parameters_of(function)[1].check(resolve(arguments, variables))


def one(annotation: Any, default: Any = ...) -> Callable[..., Any]:
    def tool(it):  # type: ignore[no-untyped-def]
        return it

    tool.__annotations__["it"] = annotation
    if default is not ...:
        tool.__defaults__ = (default,)
    return tool
