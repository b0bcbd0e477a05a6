"""The wires by the name of their dialect; each is imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nbtool.errors import BadUsage
from nbtool.wire.base import Wire
from nbtool.wire.dialect import DIALECTS

WIRES = tuple(DIALECTS)
"""The names of the wires."""


@cache
def find_wire(name: str) -> Wire:
    """Return the shared wire with this name.

    Raises:
        nbtool.errors.BadUsage: the name is unknown.
    """
    if name not in DIALECTS:
        raise BadUsage(f"Unknown wire {name!r}.", fix=f"Choose one of {', '.join(WIRES)}.")
    module, _, factory_name = DIALECTS[name].wire.partition(":")
    wire: Wire = getattr(import_module(module), factory_name)()
    return wire
