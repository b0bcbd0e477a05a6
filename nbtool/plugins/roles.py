"""Send messages of unsupported roles under another role.

Some chat templates have no system role, no tool role, or require that user and assistant alternate; they reject a
request, or silently drop what they do not support. `FallbackRoles` describes what a server lacks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from nbtool.argument_check import check_arguments
from nbtool.chain.hooks import RequestContext
from nbtool.messages import Media, Message, Part, Text, ToolCall, ToolResult


@check_arguments
@dataclass(frozen=True, slots=True)
class FallbackRoles:
    """Replaces roles in requests; put it last of all plugins.

    `system` is the role of the system text: `user` puts it before the first user message, `developer` sends it under
    that name. `tool` is the role of results: with `user`, calls and results are sent as text. `alternate` joins
    consecutive messages of one role. Only requests are changed, not the history.
    """

    runs_on_loop: ClassVar[bool] = True

    system: Literal["system", "developer", "user"] = "system"
    tool: Literal["tool", "user"] = "tool"
    alternate: bool = False

    def on_before_request(self, request: RequestContext) -> None:
        """Rewrite the request's messages."""
        messages = request.messages
        if self.tool == "user":
            messages = [_as_plain_message(message) for message in messages]
        if self.system != "system":
            texts = [request.system, *(message.text for message in messages if message.role == "system")]
            messages = [message for message in messages if message.role != "system"]
            messages = _with_heading("\n\n".join(filter(None, texts)), self.system, messages)
            request.system = ""
        request.set_messages(_merge_same_role(messages) if self.alternate else messages)


GEMMA = FallbackRoles(system="user", tool="user", alternate=True)
"""For templates such as Gemma's, with two alternating roles only."""


def _with_heading(text: str, role: Literal["developer", "user"], messages: list[Message]) -> list[Message]:
    if not text:
        return messages
    if role == "user" and messages and messages[0].role == "user":
        first = messages[0]
        return [first.with_parts([Text(f"{text}\n\n"), *first.parts]), *messages[1:]]
    # `developer` is not a `Role`: it exists in the request only, and wires write roles unchanged.
    heading = Message("system", (Text(text),))
    object.__setattr__(heading, "role", role)
    return [heading, *messages]


def _as_plain_message(message: Message) -> Message:
    """Replace calls and results by text; results become user messages."""
    if message.role == "tool":
        media = [item for result in message.results for item in result.media]
        return Message("user", (*map(_as_text, message.results), *media))
    if message.calls:
        return message.with_parts(_as_text(part) if isinstance(part, ToolCall) else part for part in message.parts)
    return message


def _as_text(part: ToolCall | ToolResult) -> Text:
    if isinstance(part, ToolCall):
        return Text(f"\n[I asked for {part.name} with {part.arguments or '{}'}]")
    return Text(f"[The result of {part.name}]\n{part.text}\n")


def _merge_same_role(messages: Iterable[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role and message.role != "tool":
            last = merged.pop()
            message = last.with_parts([*last.parts, *_spacer(last, message), *message.parts])
        merged.append(message)
    return merged


def _spacer(last: Message, message: Message) -> tuple[Part, ...]:
    """Return a blank line between two texts, nothing next to media."""
    is_prose = last.parts and message.parts and not isinstance(last.parts[-1], Media)
    return (Text("\n\n"),) if is_prose else ()
