"""Builtin types that a variable of the notebook hides, as `str = "abc"` in an earlier cell does."""

from __future__ import annotations

import builtins
import re
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from nbtool.errors import BadUsage


def hidden_type_error(annotation: Any, parameter: str, function: str, names: Mapping[str, Any]) -> BadUsage | None:
    """Return the error for an annotation that is no type because its name belongs to a variable; None if it is not so.

    The annotation may be what the variable contained when the function was defined, or a text with its name.
    """
    found = next(
        (
            hidden_type_
            for hidden_type_ in _hidden_types(names)
            if _is_meant(annotation, hidden_type_, names[hidden_type_])
        ),
        None,
    )
    if found is None:
        return None
    return BadUsage(
        f"The annotation of the parameter {parameter!r} of {function} is no type: `{found}` is a variable of this"
        f" notebook ({reprlib.repr(names[found])}), not the type.",
        fix=f"`del {found}`, then define the tool again.",
    )


def _hidden_types(names: Mapping[str, Any]) -> Iterator[str]:
    for name, kind in vars(builtins).items():
        if isinstance(kind, type) and name in names and not isinstance(names[name], type):
            yield name


def _is_meant(annotation: Any, name: str, value: Any) -> bool:
    if annotation is value:
        return True
    return isinstance(annotation, str) and re.search(rf"(?<![\w.]){name}\b", annotation) is not None
