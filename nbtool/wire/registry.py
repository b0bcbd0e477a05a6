"""The registry of wires by name; each is imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nbtool.errors import BadUsage
from nbtool.wire.base import Wire

WIRES = {
    "chat": "nbtool.wire.dialects.chat_completions.encoder:ChatCompletions",
    "responses": "nbtool.wire.dialects.responses.encoder:Responses",
    "anthropic": "nbtool.wire.dialects.anthropic.encoder:AnthropicMessages",
    "gemini": "nbtool.wire.dialects.gemini.encoder:GenerateContent",
    "image": "nbtool.wire.dialects.media.encoder:image",
    "image-edit": "nbtool.wire.dialects.media.encoder:image_edit",
    "transcription": "nbtool.wire.dialects.media.encoder:transcription",
    "speech": "nbtool.wire.dialects.media.encoder:speech",
}
"""The import path of each dialect, as `module:class` or `module:function`."""


@cache
def find_wire(name: str) -> Wire:
    """Return the shared wire with this name.

    Raises:
        nbtool.errors.BadUsage: the name is unknown.
    """
    if name not in WIRES:
        raise BadUsage(f"Unknown wire {name!r}.", fix=f"Choose one of {', '.join(WIRES)}.")
    module, _, factory_name = WIRES[name].partition(":")
    wire: Wire = getattr(import_module(module), factory_name)()
    return wire
