"""The standard toolsets: what most notebooks give to a model, each under rules of its own.

    from nbtool.toolsets import files, inspection, notebook_python, web

    chat = Chat(tools=[inspection, files("data")])

Each name is a function that makes a toolset; where it needs no arguments, the name alone will do, also as `-t NAME`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtool.errors import BadUsage
from nbtool.shorten import shorten

if TYPE_CHECKING:
    from nbtool.tools import Toolset
    from nbtool.toolsets.file_tools import files
    from nbtool.toolsets.inspection_tools import inspection
    from nbtool.toolsets.python import notebook_python
    from nbtool.toolsets.web_tools import web

__all__ = ["files", "inspection", "notebook_python", "standard", "web"]

_MODULES = {
    "files": "nbtool.toolsets.file_tools",
    "inspection": "nbtool.toolsets.inspection_tools",
    "notebook_python": "nbtool.toolsets.python",
    "web": "nbtool.toolsets.web_tools",
}
STANDARD = ("files", "inspection", "python", "web")
"""What `-t nbtool:NAME` can name."""


@cache
def standard(name: str) -> Toolset:
    """Give the standard toolset of this name as it is without arguments: `files`, `inspection`, `web`, `python`.

    Raises:
        BadUsage: there is none of this name, or it cannot be made here.
    """
    module = {"python": "notebook_python"}.get(name, name)
    if module not in _MODULES:
        raise BadUsage(
            f"There is no toolset nbtool:{shorten(name, 64)}.", fix="There are files, inspection, python and web."
        )
    toolset: Toolset = getattr(import_module(_MODULES[module]), module)()
    return toolset


def __getattr__(name: str) -> Any:
    """Import a toolset when it is asked for (PEP 562): what a notebook does not use costs it nothing."""
    if name in _MODULES:
        globals()[name] = getattr(import_module(_MODULES[name]), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
