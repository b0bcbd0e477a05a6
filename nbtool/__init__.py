"""nbtool: chat with a language model in a notebook, with the notebook's functions and objects as its tools."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.chat.chat import Chat
    from nbtool.chat.turn import Turn
    from nbtool.errors import NbtoolError, ToolFailed
    from nbtool.tools import Approved, Denied, Policy, Progress, Released, Tool, Toolset, Withheld, tool

__version__ = "0.1.0"

__all__ = [
    "Approved", "Chat", "Denied", "NbtoolError", "Policy", "Progress", "Released", "Tool", "ToolFailed", "Toolset",
    "Turn", "Withheld", "load_ipython_extension", "tool", "unload_ipython_extension",
]  # fmt: skip

_HOMES = {
    "Chat": "nbtool.chat.chat",
    "Turn": "nbtool.chat.turn",
    "NbtoolError": "nbtool.errors",
    "ToolFailed": "nbtool.errors",
    **dict.fromkeys(
        ("Approved", "Denied", "Policy", "Progress", "Released", "Tool", "Toolset", "Withheld", "tool"), "nbtool.tools"
    ),
}


def __getattr__(name: str) -> Any:
    """Import a public name on first access (PEP 562), so that `import nbtool` stays fast."""
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Handle `%load_ext nbtool`."""
    from nbtool.magics import load  # noqa: PLC0415 - IPython is needed only here

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Handle `%unload_ext nbtool`."""
    from nbtool.magics import unload  # noqa: PLC0415 - IPython is needed only here

    unload(shell)
