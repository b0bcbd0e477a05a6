"""The origin of a module: the user's own, nbtool's, or installed."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

MAIN = ("__main__", "__mp_main__")
"""The names of the notebook or script: the second is its name in a process that `multiprocessing` spawns."""

_INSTALLED = {"site-packages", "dist-packages"}


def with_one_main(text: str) -> str:
    """Return a text with the same name for the notebook or script in every process."""
    name, spawned = MAIN
    return text.replace(spawned, name)


def is_nbtool(module: Any) -> bool:
    """Whether a module belongs to nbtool."""
    return type(module) is str and module.partition(".")[0] == "nbtool"


def is_user_module(module: Any) -> bool:
    """Whether a module is the user's own: the notebook, or a file that is not part of an installation."""
    return type(module) is str and not is_nbtool(module) and (module in MAIN or _is_user_file(module))


def has_user_globals(function: FunctionType) -> bool:
    """Whether a function looks up its globals in a user's own module, or in a namespace without a module."""
    module_globals = function.__globals__
    name = module_globals.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return module is None or vars(module) is not module_globals or is_user_module(name)


def _is_user_file(name: str) -> bool:
    module = sys.modules.get(name)
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]  # a namespace package has no file
    file = next((place for place in places if type(place) is str), None)
    return name.partition(".")[0] not in sys.stdlib_module_names and (file is None or is_own_file(file))


@cache
def is_own_file(file: str) -> bool:
    """Whether a file is not part of an installation."""
    if _INSTALLED & set(Path(file).parts):
        return False
    return not any(Path(file).is_relative_to(sysconfig.get_path(scheme)) for scheme in ("stdlib", "platstdlib"))
