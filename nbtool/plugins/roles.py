"""Roles that a server does not know are told under another one.

Some chat templates have no system role, no tool role, or insist that user and assistant take turns; they refuse a
request, or drop what they do not know in silence. What a server lacks is data: one `FallbackRoles` says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from nbtool.chain.hooks import RequestContext
from nbtool.messages import Media, Message, Part, Role, Text, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class FallbackRoles:
    """Says what is told under which role instead; put it last of all plugins.

    `system` is the role of the system text: `user` puts it before the first thing that the person said, `developer`
    sends it under that name. `tool` is the role of results: with `user` calls and results are told as text.
    `alternate` joins messages of one role that follow each other. What is kept and shown is not changed.
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
"""Templates such as Gemma's: two roles that take turns, and nothing else."""


def _with_heading(text: str, role: Literal["developer", "user"], messages: list[Message]) -> list[Message]:
    if not text:
        return messages
    if role == "user" and messages and messages[0].role == "user":
        first = messages[0]
        return [first.with_parts([Text(f"{text}\n\n"), *first.parts]), *messages[1:]]
    # `developer` is a word of the wire alone, which writes roles as they stand; no message of ours keeps it.
    return [Message(cast("Role", role), (Text(text),)), *messages]


def _as_plain_message(message: Message) -> Message:
    """Tell calls and results as text; the role of results becomes the user's."""
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
    """Keep two texts apart that would run into each other."""
    is_prose = last.parts and message.parts and not isinstance(last.parts[-1], Media)
    return (Text("\n\n"),) if is_prose else ()
