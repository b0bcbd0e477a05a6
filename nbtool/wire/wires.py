"""The dialects by name; each is loaded when it is first spoken."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from nbtool.errors import BadUsage
from nbtool.wire.base import Wire

WIRES = {
    "chat": "nbtool.wire.chat_completions:ChatCompletions",
    "responses": "nbtool.wire.responses:Responses",
    "anthropic": "nbtool.wire.anthropic:AnthropicMessages",
    "image": "nbtool.wire.media:image",
    "image-edit": "nbtool.wire.media:image_edit",
    "transcription": "nbtool.wire.media:transcription",
    "speech": "nbtool.wire.media:speech",
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
    module, _, word = WIRES[name].partition(":")
    wire: Wire = getattr(import_module(module), word)()
    return wire
