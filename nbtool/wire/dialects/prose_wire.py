"""The wire of a model of texts: its dialect, with thinking that is written into the text separated from it."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.wire.base import Decoder, Prompt, Request, Target, Wire
from nbtool.wire.dialect import find_dialect
from nbtool.wire.dialects.prose import Prose
from nbtool.wire.dialects.stream_reader import StreamReader
from nbtool.wire.registry import find_wire


@dataclass(slots=True)
class ProseWire:
    """A dialect of texts whose decoders separate thinking from text, and merge what arrives together."""

    name: str
    inner: Wire

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt as the dialect does."""
        return self.inner.encode(prompt, target)

    def decoder(self, *, stream: bool = True) -> Decoder:
        """Return a new decoder for one reply."""
        reader = self.inner.decoder(stream=stream)
        assert isinstance(reader, StreamReader)
        reader.prose = Prose()
        return reader


def text_wire(name: str) -> Wire:
    """Return the wire of a model by the name of its dialect; one of images or sound has no prose to separate."""
    return ProseWire(name, find_wire(name)) if find_dialect(name).is_text else find_wire(name)
