"""One parameter of a tool: its name, its default, and the validator of its argument alone."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from nbtool.tools.schema.validator import Validator, compile_validator

_KINDS = inspect.Parameter


@dataclass(frozen=True, slots=True)
class FilledDefault:
    """A default that validation fills in: one declared by pydantic's `Field`, or a new copy of a mutable one.

    `takes_data`: `make` receives the values of the parameters before it. `is_declared`: by `Field`, so that Python
    itself would pass the declaration.
    """

    make: Callable[..., Any]
    takes_data: bool = False
    is_validated: bool = False
    is_declared: bool = False


@dataclass(frozen=True)
class Parameter:
    """One parameter of a tool; `is_plain`: a string, a number or a boolean.

    `name` is what the model calls it, and `target` what the function does, which differs for `Field(alias=…)`.
    `states_required` says whether it may be left out where no default does: a key of a TypedDict.
    """

    name: str
    kind: Any
    default: Any
    annotation: Any = field(repr=False)
    is_plain: bool = False
    filled_in: FilledDefault | None = None
    target: str = ""
    states_required: bool | None = None

    @property
    def is_required(self) -> bool:
        """Whether it has no default, and may not be left out without one."""
        if self.states_required is not None:
            return self.states_required
        has_default = self.filled_in is not None or self.default is not _KINDS.empty
        return not has_default and self.kind not in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD)

    def is_filled_in(self, arguments: Mapping[str, Any]) -> bool:
        """Whether its declared default takes the place of its argument in a call."""
        return self.filled_in is not None and self.filled_in.is_declared and self.name not in arguments

    @cached_property
    def alone(self) -> Validator:
        """The validator of this argument without the others, for an object that came by reference."""
        return compile_validator(self.annotation)

    def read(self, value: Any) -> Any:
        """Return the value of a JSON value; raises pydantic's ValidationError."""
        return self.alone.validate_json(json.dumps(value))
