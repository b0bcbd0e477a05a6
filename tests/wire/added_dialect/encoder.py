"""The requests of the dialect *lines*: a list of turns, and the tools that may be called."""

from __future__ import annotations

from typing import Any

from nbtool.messages import Message
from nbtool.wire import Decoder, Prompt, Request, Target
from tests.wire.added_dialect.reader import LinesReader


class Lines:
    """The dialect *lines*."""

    name = "lines"

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt."""
        tools = [{"name": tool.name, "takes": dict(tool.parameters)} for tool in prompt.tools]
        body = {"model": target.model, "turns": [*map(_turn, prompt.messages)], "tools": tools}
        return Request("/lines", body, stream=prompt.stream)

    def decoder(self, *, stream: bool = True) -> Decoder:  # noqa: ARG002 - the first byte shows whether it is a stream
        """Return a new decoder for one reply."""
        return LinesReader()


def _turn(message: Message) -> dict[str, Any]:
    results = {result.id: result.text for result in message.results}
    return {"by": message.role, "says": message.text, **({"results": results} if results else {})}
