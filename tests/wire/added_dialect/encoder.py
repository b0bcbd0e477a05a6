"""The requests of the dialect *lines*: a list of turns, and the tools that may be called."""

from __future__ import annotations

from typing import Any

from nbtool.messages import Message
from nbtool.wire import Decoder, Prompt, Request, Target
from nbtool.wire.dialects.request_fields import MESSAGES, MODEL, TOOL_CHOICE, TOOLS, Written, write_body
from nbtool.wire.providers.provider_tools import take_provider_tools
from tests.wire.added_dialect.reader import LinesReader


class Lines:
    """The dialect *lines*."""

    name = "lines"

    def encode(self, prompt: Prompt, target: Target) -> Request:
        """Encode a prompt."""
        options, _ = take_provider_tools(prompt.options, self.name)  # this dialect has none: named ones are refused
        tools = [{"name": tool.name, "takes": dict(tool.parameters)} for tool in prompt.tools]
        may_call = "never" if prompt.is_final or prompt.tool_choice == "none" else None
        written = {
            "model": Written(target.model, MODEL),
            "turns": Written([*map(_turn, prompt.messages)], MESSAGES),
            "tools": Written(tools or None, TOOLS),
            "may_call": Written(may_call, TOOL_CHOICE),
        }
        return Request("/lines", write_body(written, options), stream=prompt.stream)

    def decoder(self, *, stream: bool = True) -> Decoder:  # noqa: ARG002 - the first byte shows whether it is a stream
        """Return a new decoder for one reply."""
        return LinesReader()


def _turn(message: Message) -> dict[str, Any]:
    results = {result.id: result.text for result in message.results}
    return {"by": message.role, "says": message.text, **({"results": results} if results else {})}
