"""Tools: Python functions with a schema, an approval policy and references to variables."""

from nbtool.tools.approval import (
    Approved,
    Denied,
    Policy,
    PolicyContext,
    Released,
    Withheld,
    ask_after_outside_text,
)
from nbtool.tools.tool import Progress, Tool, tool
from nbtool.tools.toolset import Toolset

__all__ = [
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
]
