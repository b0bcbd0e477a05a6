"""The connection to models: dialects as pure functions, and the HTTP transport."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.wire.base import Decoder, Endpoint, Prompt, Request, Target, ToolSpec, Wire
    from nbtool.wire.prompted.prompted_wire import parse_calls
    from nbtool.wire.recorded_body import decode
    from nbtool.wire.registry import WIRES, find_wire
    from nbtool.wire.reply import Reply, ReplyBuilder

__all__ = [
    "WIRES",
    "Decoder",
    "Endpoint",
    "Prompt",
    "Reply",
    "ReplyBuilder",
    "Request",
    "Target",
    "ToolSpec",
    "Wire",
    "decode",
    "find_wire",
    "parse_calls",
]

_MODULES = {
    **dict.fromkeys(("Decoder", "Endpoint", "Prompt", "Request", "Target", "ToolSpec", "Wire"), "base"),
    **dict.fromkeys(("WIRES", "find_wire"), "registry"),
    **dict.fromkeys(("Reply", "ReplyBuilder"), "reply"),
    "decode": "recorded_body",
    "parse_calls": "prompted.prompted_wire",
}


def __getattr__(name: str) -> Any:
    """Import what is used first (PEP 562): `%load_ext` only looks the default model up, and has to be fast."""
    if name in _MODULES:
        globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
