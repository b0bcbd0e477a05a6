"""Names of Python's builtins: a result takes one only if a person says so, since later cells may use the builtin."""

from __future__ import annotations

import builtins
from collections.abc import Container

from nbtool.errors import BadUsage


def check_no_builtin(name: str, names: Container[str], *, replace: bool) -> None:
    """Check that a name, which the notebook does not use for something else already, is none of a builtin.

    Raises:
        BadUsage: it is, and `replace` is not set.
    """
    if name in vars(builtins) and name not in names and not replace:
        raise BadUsage(
            f"`{name}` is a builtin of Python, which a variable of this name would hide.",
            fix="Choose another name, or add `--set replace_names=true`.",
        )
