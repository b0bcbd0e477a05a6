"""Take the keys that this kernel uses out of a request: a model has no use for them, and its host may be another's.

Messages, the system text and the definitions of tools are content, and may have come from anywhere. Options are not
searched: a person writes them, and a tool of the provider may need a key there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nbtool.audience import for_audience, hide_content
from nbtool.chain.hooks import RequestContext
from nbtool.messages import Message, ToolResult
from nbtool.wire.base import ToolSpec
from nbtool.wire.form_cache import FormCache
from nbtool.wire.framing.known_secrets import hide_secrets, secrets_version
from nbtool.wire.framing.redaction import HIDDEN

NOTICE = "{places} contained a key or a value of a header or query of this kernel: the model gets {hidden} for it."
"""Said of each place once in a turn."""

_PLACES = {"user": "the prompt", "assistant": "a reply", "tool": "a result", "system": "the system text"}

_NAMED = "places of known secrets"
"""The key of the state of a turn under which the places are that were named."""


def describe(places: list[str]) -> str:
    """Return what is said of places in which a secret was."""
    text = " and ".join(places)
    return NOTICE.format(places=text[:1].upper() + text[1:], hidden=HIDDEN)


class RequestFilter:
    """Takes the known secrets out of requests, and searches no message twice."""

    def __init__(self) -> None:
        self._messages: FormCache[Message, int, Message] = FormCache()
        self._definitions: FormCache[ToolSpec, int, ToolSpec] = FormCache()

    def hide_secrets(self, request: RequestContext) -> str:
        """Change a request to one without known secrets; return what to say about it, empty if it had none.

        Messages of earlier turns, of which this was said then, are not named.
        """
        if not (version := secrets_version()):
            return ""
        named: set[str] = request.turn.state.setdefault(_NAMED, set())
        places = list(dict.fromkeys(place for place in self._change(request, version) if place not in named))
        named.update(places)
        return describe(places) if places else ""

    def _change(self, request: RequestContext, version: int) -> Iterator[str]:
        """Change the parts of a request; yield the names of those of this turn that change."""
        messages = [self._messages.get_or_make(message, version, _hide_in_message) for message in request.messages]
        for message, sent in zip(request.messages, messages, strict=True):
            if sent is not message and not any(message is earlier for earlier in request.turn.history):
                yield from _changed_parts(message, sent)
        request.set_messages(messages)
        system = hide_secrets(request.system)
        if system != request.system:
            request.system = system
            yield _PLACES["system"]
        tools = [self._definitions.get_or_make(tool, version, _hide_in_definition) for tool in request.tools]
        yield from (
            f"the definition of {tool.name}"
            for tool, sent in zip(request.tools, tools, strict=True)
            if sent is not tool
        )
        request.tools = tools


REQUEST_FILTER = RequestFilter()
"""Of this process, as the known secrets are."""


def _hide_in_message(message: Message) -> Message:
    hidden = for_audience(message, "model", hide=hide_secrets)
    if hidden.native is message.native:
        return hidden
    return replace(hidden, native=None)  # signed by its provider: it is sent as it came, or not at all


def _hide_in_definition(tool: ToolSpec) -> ToolSpec:
    parameters = hide_content(tool.parameters, hide_secrets, numbers=False)
    hidden = replace(tool, description=hide_secrets(tool.description), parameters=parameters)
    return tool if hidden == tool else hidden


def _changed_parts(message: Message, sent: Message) -> Iterator[str]:
    """Yield the names of the parts of a message that were changed."""
    for before, after in zip(message.parts, sent.parts, strict=True):
        if before is not after:
            yield f"the result of {before.name}" if isinstance(before, ToolResult) else _PLACES[message.role]
