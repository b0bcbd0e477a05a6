"""Whose a module is: the person's own, nbtool's, or one that was installed."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any

_INSTALLED = {"site-packages", "dist-packages"}


def is_ours(module: Any) -> bool:
    """Whether a module is one of nbtool."""
    return type(module) is str and module.partition(".")[0] == "nbtool"


def is_own(module: Any) -> bool:
    """Whether a module is the person's own: the notebook, or a file that no installation put there."""
    return type(module) is str and not is_ours(module) and (module == "__main__" or _is_written_here(module))


@cache
def _is_written_here(name: str) -> bool:
    if name.partition(".")[0] in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    if type(file) is not str:
        return name not in sys.modules
    if _INSTALLED & set(Path(file).parts):
        return False
    return not any(Path(file).is_relative_to(sysconfig.get_path(which)) for which in ("stdlib", "platstdlib"))
