"""The dialects by name; each is loaded when it is first spoken."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nbtool.errors import BadUsage
from nbtool.wire.base import Wire

WIRES = {
    "chat": "nbtool.wire.dialects.chat_completions.encoder:ChatCompletions",
    "responses": "nbtool.wire.dialects.responses.encoder:Responses",
    "anthropic": "nbtool.wire.dialects.anthropic.encoder:AnthropicMessages",
    "image": "nbtool.wire.dialects.media.encoder:image",
    "image-edit": "nbtool.wire.dialects.media.encoder:image_edit",
    "transcription": "nbtool.wire.dialects.media.encoder:transcription",
    "speech": "nbtool.wire.dialects.media.encoder:speech",
}
"""Where each dialect lives, as `module:class` or `module:function`."""


@cache
def find_wire(name: str) -> Wire:
    """Give the one shared wire of a name.

    Raises:
        nbtool.errors.BadUsage: there is no such wire.
    """
    if name not in WIRES:
        raise BadUsage(f"There is no wire {name!r}.", fix=f"Choose one of {', '.join(WIRES)}.")
    module, _, name_given = WIRES[name].partition(":")
    wire: Wire = getattr(import_module(module), name_given)()
    return wire
