"""Plugins: extensions of a turn through the hooks of `nbtool.chain.plugin`; nbtool's own use no others than yours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.plugins.budget import Budget, Price
    from nbtool.plugins.event_log import EventLog
    from nbtool.plugins.privacy import Privacy
    from nbtool.plugins.telemetry import Telemetry

__all__ = ["Budget", "EventLog", "Price", "Privacy", "Telemetry"]

_MODULES = {
    "Budget": "budget",
    "EventLog": "event_log",
    "Price": "budget",
    "Privacy": "privacy",
    "Telemetry": "telemetry",
}


def __getattr__(name: str) -> Any:
    """Import a plugin on first access (PEP 562): each needs libraries that a turn without it does not."""
    if name in _MODULES:
        return getattr(import_module(f"nbtool.plugins.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
