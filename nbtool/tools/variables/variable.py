"""An entry of the store of variables, and the names that it may have."""

from __future__ import annotations

import os
import re
import time
import weakref
from dataclasses import dataclass, field
from typing import Any, Literal

from nbtool.errors import BadUsage
from nbtool.text import shorten

MISSING = object()

VariableKind = Literal["exposed", "result", "note", "rule"]

NAME = re.compile(r"[\w\-/.]{1,128}")


@dataclass(slots=True)
class Variable:
    """An entry of the store.

    `is_readable`: the model may read the values, not only pass the object on. `is_named`: a result that a person named
    like an exposed variable.
    """

    name: str
    kind: VariableKind
    is_readable: bool
    value: Any = field(default=MISSING, repr=False)
    text: str | None = field(default=None, repr=False)
    description: str = ""
    tags: tuple[str, ...] = ()
    is_named: bool = False
    is_pinned: bool = False
    is_held: bool = False
    size: int = 0
    holders: list[weakref.ref[Any]] = field(default_factory=list, repr=False)
    created: float = field(default_factory=time.time)

    @property
    def is_live(self) -> bool:
        """Whether the object is looked up in the notebook at each use."""
        return self.value is MISSING

    @property
    def is_exposed(self) -> bool:
        """Whether a person exposed it, or named it as if: the prompt lists it."""
        return self.kind == "exposed" or self.is_named


def check_name(name: str) -> None:
    """Raise BadUsage if a name is not valid for a variable."""
    if not NAME.fullmatch(name):
        raise BadUsage(
            f"{shorten(name, 64)!r} is not a valid variable name: expected letters, digits, '_', '-', '/' and '.'."
        )


SECRET_TYPES = frozenset(("SecretStr", "SecretBytes", "Secret"))
"""Names of types whose objects, also those of a subclass, are made to contain secrets."""


def is_secret(value: Any) -> bool:
    """Whether an object is made to contain secrets, so that no tool may use it."""
    is_environment = value is os.environ or (value is not None and value is getattr(os, "environb", None))
    return is_environment or any(kind.__name__ in SECRET_TYPES for kind in type(value).__mro__)


def is_shared(value: Any) -> bool:
    """Whether equal values of many variables may be this one object."""
    return value is None or type(value) in (bool, int, float, complex) or (isinstance(value, str) and len(value) < 2)
