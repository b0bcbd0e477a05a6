"""A text that is not shown: a key, a token, a password."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

HIDDEN = "**********"
"""What is shown in place of a secret."""


@runtime_checkable
class SecretValue(Protocol):
    """Anything that gives a secret when it is asked to, such as `pydantic.SecretStr`."""

    def get_secret_value(self) -> str:
        """Return the text."""
        ...


class Secret:
    """A text that appears in no output, log or exception unless it is asked for by name.

    It is what `pydantic.SecretStr` is, without the import of pydantic, which takes half the time of `%load_ext`.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def get_secret_value(self) -> str:
        """Return the text."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __len__(self) -> int:
        return len(self._value)

    def __str__(self) -> str:
        return HIDDEN if self._value else ""

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Callable[..., Any]) -> Any:
        """Let a model of pydantic have a secret among its fields: it is read from a text, and not written."""
        from pydantic_core import core_schema  # noqa: PLC0415 - only where pydantic is in use

        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema(strict=True))
        return core_schema.union_schema(
            [core_schema.is_instance_schema(cls), from_text],
            serialization=core_schema.to_string_ser_schema(),
        )
