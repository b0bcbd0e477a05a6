"""The ids that connect calls and their results in one request.

A provider's ids are unreliable: servers restart them in every round, send the same one twice, or use characters that
another dialect refuses. Ids are therefore assigned for each request: the provider's own id if it is usable.
"""

from __future__ import annotations

import re

from nbtool.json_schema.names import MAX_NAME
from nbtool.messages import Message, ToolCall, ToolResult

VALID_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""An id that all dialects accept (Anthropic's characters, OpenAI's length)."""

_INVALID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")


def safe_tool_name(name: object) -> str:
    """Return a tool's name in a form that all dialects accept; a model may have called an invalid name."""
    fitting = _INVALID_CHARACTERS.sub("_", name if isinstance(name, str) else "") or "unnamed"
    return (fitting if fitting[0].isalpha() else f"_{fitting.lstrip('_')}")[:MAX_NAME]


class CallIds:
    """Assigns the ids of one request, in the order of its messages."""

    def __init__(self) -> None:
        self._reserved: set[str] = set()
        self._by_call_id: dict[str, str] = {}
        self._by_provider_id: dict[str, str] = {}

    def reserve(self, message: Message) -> bool:
        """Reserve the ids of a message's calls unchanged; return False, and reserve none, if one is in use."""
        calls = message.calls
        ids = [call.id for call in calls]
        if not all(ids) or len(set(ids)) < len(ids) or not self._reserved.isdisjoint(ids):
            return False
        for call in calls:
            self._assign(call, call.id)
        return True

    def id_for_call(self, call: ToolCall) -> str:
        """Assign the id of a call: the provider's if it is valid and free, else nbtool's, else a number."""
        for preferred in (call.id, call.call_id):
            if VALID_ID.fullmatch(preferred) and preferred not in self._reserved:
                return self._assign(call, preferred)
        number = len(self._reserved) + 1
        while f"call_{number}" in self._reserved:
            number += 1
        return self._assign(call, f"call_{number}")

    def id_for_result(self, result: ToolResult) -> str:
        """Return the id of the call that a result answers: the latest of several calls with the same id."""
        known_id = self._by_call_id.get(result.call_id) if result.call_id else None
        return known_id or self._by_provider_id.get(result.id) or result.id or result.call_id

    def _assign(self, call: ToolCall, assigned: str) -> str:
        self._reserved.add(assigned)
        if call.call_id:
            self._by_call_id[call.call_id] = assigned
        self._by_provider_id[call.id] = assigned
        return assigned
