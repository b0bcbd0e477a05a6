"""The ids by which calls and their results find each other in one request.

A provider's ids are not to be trusted: servers restart them in every round, send the same one twice, or use letters
that another dialect refuses. So each request gives every call an id anew: the provider's own wherever it can stand.
"""

from __future__ import annotations

import re

from nbtool.messages import Message, ToolCall, ToolResult

FITTING = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What every dialect takes as an id (Anthropic's letters, OpenAI's length)."""

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


def fitting_name(name: str) -> str:
    """Give a tool's name as every dialect takes it; a model may have called what no tool could be named."""
    return _UNFIT.sub("_", name)[:64] or "unnamed"


class CallIds:
    """The ids of one request, asked for in the order of its messages."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}

    def keep(self, message: Message) -> bool:
        """Take the ids of a message's calls as they are; says no, and takes none, where one was taken before."""
        wanted = [call.id for call in message.calls]
        if not all(wanted) or len(set(wanted)) < len(wanted) or not self._taken.isdisjoint(wanted):
            return False
        for call in message.calls:
            self._note(call, call.id)
        return True

    def call(self, call: ToolCall) -> str:
        """Give a call its id: the provider's where it fits and is free, else ours, else a number."""
        for wanted in (call.id, call.call_id):
            if FITTING.fullmatch(wanted) and wanted not in self._taken:
                return self._note(call, wanted)
        number = len(self._taken) + 1
        while f"call_{number}" in self._taken:
            number += 1
        return self._note(call, f"call_{number}")

    def result(self, result: ToolResult) -> str:
        """Give the id of the call that a result answers: the latest one, where several came with the same id."""
        found = self._ours.get(result.call_id) if result.call_id else None
        return found or self._theirs.get(result.id) or result.id or result.call_id

    def _note(self, call: ToolCall, given: str) -> str:
        self._taken.add(given)
        if call.call_id:
            self._ours[call.call_id] = given
        self._theirs[call.id] = given
        return given
