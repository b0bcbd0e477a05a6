"""nbtool: chat with a language model in a notebook, with the notebook's functions and objects as its tools."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.chat.batch import Answer, Batch, MapTotals
    from nbtool.chat.chat import Chat
    from nbtool.chat.reviewer import Reviewer
    from nbtool.chat.turn import Turn
    from nbtool.errors import NbtoolError, ToolFailed
    from nbtool.tools import (
        Approved,
        Denied,
        Policy,
        PolicyContext,
        Progress,
        Released,
        Tool,
        Toolset,
        Withheld,
        ask_after_outside_text,
        tool,
    )

__version__ = "0.1.0"

__all__ = [
    "Answer", "Approved", "Batch", "Chat", "Denied", "MapTotals", "NbtoolError", "Policy", "PolicyContext",
    "Progress", "Released", "Reviewer", "Tool", "ToolFailed", "Toolset", "Turn", "Withheld", "ask_after_outside_text",
    "chats", "load_ipython_extension", "serve", "tool", "unload_ipython_extension",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(("Answer", "Batch", "MapTotals"), "nbtool.chat.batch"),
    "Chat": "nbtool.chat.chat",
    "Reviewer": "nbtool.chat.reviewer",
    "Turn": "nbtool.chat.turn",
    "NbtoolError": "nbtool.errors",
    "ToolFailed": "nbtool.errors",
    **dict.fromkeys(
        (
            "Approved",
            "Denied",
            "Policy",
            "PolicyContext",
            "Progress",
            "Released",
            "Tool",
            "Toolset",
            "Withheld",
            "ask_after_outside_text",
            "tool",
        ),
        "nbtool.tools",
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


def chats() -> dict[str, Chat]:
    """Return the conversations of this notebook's `%%chat` cells, by name: `main` is that of cells without `-c`.

    Raises:
        nbtool.errors.BadUsage: the extension is not loaded: `%load_ext nbtool`.
    """
    from nbtool.magics import kernel_chats_here  # noqa: PLC0415 - IPython is needed only here

    return dict(kernel_chats_here().chats)


def serve(
    *tools: Any, read: str | Iterable[str] = (), answer_within: float = 300.0, port: int = 0, **variables: Any
) -> None:
    """Serve tools and objects of this notebook to other programs, as `%chat serve` does.

        nbtool.serve(price, df=df)

    Args:
        tools: functions and toolsets, as `Chat(tools=…)` takes them.
        read: the names among `variables` whose values clients may read; the others are passed by reference only.
        answer_within: seconds after which an unanswered question is denied.
        port: of 127.0.0.1; 0 takes a free one.
        variables: the objects to expose, by name.

    Raises:
        nbtool.errors.BadUsage: the extension is not loaded, the notebook is served already, or a name is unknown.
    """
    from nbtool.magics import serve_objects  # noqa: PLC0415 - IPython is needed only here

    serve_objects(tools, variables, read, answer_within, port)


def unload_ipython_extension(shell: Any) -> None:
    """Handle `%unload_ext nbtool`."""
    from nbtool.magics import unload  # noqa: PLC0415 - IPython is needed only here

    unload(shell)
