"""Whose a module is: the person's own, nbtool's, or one that was installed."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

_INSTALLED = {"site-packages", "dist-packages"}


def is_nbtool(module: Any) -> bool:
    """Whether a module is one of nbtool."""
    return type(module) is str and module.partition(".")[0] == "nbtool"


def is_user_module(module: Any) -> bool:
    """Whether a module is the person's own: the notebook, or a file that no installation put there."""
    return type(module) is str and not is_nbtool(module) and (module == "__main__" or _is_user_file(module))


def has_user_globals(function: FunctionType) -> bool:
    """Whether a function looks up its globals in a module of the person's own, or in names that are no module's."""
    module_globals = function.__globals__
    name = module_globals.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return module is None or vars(module) is not module_globals or is_user_module(name)


@cache
def _is_user_file(name: str) -> bool:
    if name.partition(".")[0] in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    if type(file) is not str:
        return name not in sys.modules
    if _INSTALLED & set(Path(file).parts):
        return False
    return not any(Path(file).is_relative_to(sysconfig.get_path(scheme)) for scheme in ("stdlib", "platstdlib"))
