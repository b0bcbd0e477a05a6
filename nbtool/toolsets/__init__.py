"""The standard toolsets, each with its rules: files, inspection, web pages, Python, cells, skills, questions.

    from nbtool.toolsets import files, inspection, notebook, notebook_python, web

    chat = Chat(tools=[inspection, files("data")])

Each name is a function that returns a toolset; if it needs no arguments, the function itself can be passed, also as `-t
NAME`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbtool.argument_check import check_arguments
from nbtool.errors import BadUsage
from nbtool.text import shorten

if TYPE_CHECKING:
    from nbtool.tools import Toolset
    from nbtool.toolsets.file_tools import files
    from nbtool.toolsets.inspection_tools import inspection
    from nbtool.toolsets.notebook_tools import notebook
    from nbtool.toolsets.person_tools import person
    from nbtool.toolsets.python import notebook_python
    from nbtool.toolsets.skill_tools import skills
    from nbtool.toolsets.web_tools import web

__all__ = ["files", "inspection", "notebook", "notebook_python", "person", "skills", "standard", "web"]

_MODULES = {
    "files": "nbtool.toolsets.file_tools",
    "inspection": "nbtool.toolsets.inspection_tools",
    "notebook": "nbtool.toolsets.notebook_tools",
    "notebook_python": "nbtool.toolsets.python",
    "person": "nbtool.toolsets.person_tools",
    "skills": "nbtool.toolsets.skill_tools",
    "web": "nbtool.toolsets.web_tools",
}
STANDARD = ("files", "inspection", "notebook", "person", "python", "skills", "web")
"""Names for `-t nbtool:NAME`."""


@check_arguments
def standard(name: str) -> Toolset:
    """Return the standard toolset of this name with its default arguments: one of `STANDARD`.

    Raises:
        BadUsage: there is no such name, or the toolset is not available here.
    """
    return _default_toolset(name)


@cache
def _default_toolset(name: str) -> Toolset:
    module = {"python": "notebook_python"}.get(name, name)
    if module not in _MODULES:
        raise BadUsage(
            f"There is no toolset nbtool:{shorten(name, 64)}.",
            fix=f"Use {', '.join(STANDARD[:-1])} or {STANDARD[-1]}.",
        )
    toolset: Toolset = getattr(import_module(_MODULES[module]), module)()
    return toolset


def __getattr__(name: str) -> Any:
    """Import a toolset on first use (PEP 562): unused ones cost nothing."""
    if name in _MODULES:
        globals()[name] = getattr(import_module(_MODULES[name]), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
