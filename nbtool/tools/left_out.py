"""Which tools cannot be offered to a model, and why."""

from __future__ import annotations

from typing import Any

from nbtool.tools.toolset import ToolSource


def left_out_tools(source: ToolSource) -> tuple[str, ...]:
    """Return what cannot be offered to a model of a source's tools, and why, a sentence each.

    Sources that read their tools elsewhere, such as a server, may have a method `left_out` that says it of theirs.
    """
    unfit = ((tool.display_name, tool.unfit_reason) for tool in source.tools().values())
    own = (f"The tool {name!r} is not offered to the model: {reason}." for name, reason in unfit if reason)
    return tuple(dict.fromkeys([*_left_out_by(source), *own]))


def _left_out_by(source: Any) -> tuple[str, ...]:
    """Return what a source and those inside it leave out."""
    inner = [*getattr(source, "sources", ()), *filter(None, [getattr(source, "_source", None)])]
    left_out = getattr(source, "left_out", None)
    own = tuple(left_out()) if callable(left_out) else ()
    return (*own, *(line for item in inner for line in _left_out_by(item)))
