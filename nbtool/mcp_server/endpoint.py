"""The endpoint of one served call: it requests the call of a client as a model would, and receives its result."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from nbtool.events import CallDelta, Delta, ReplyEnd, TextDelta
from nbtool.ids import new_id
from nbtool.messages import ToolResult
from nbtool.wire.base import Prompt

DIALECT = "mcp"
"""The name of the wire, and of the host, of calls by a client."""

RETURNED = "The result was returned to {client}."


class ClientEndpoint:
    """Has the interface of a model: its first reply is the client's call, and its second ends the turn.

    So a client's call meets what a model's call meets: plugins, both gates, limits, the journal, the view. `result` is
    what a model would have received for it; `closing` returns the last sentence, with the client's name as `{client}`.
    """

    abilities: frozenset[str] = frozenset()
    host = DIALECT
    dialect = DIALECT

    def __init__(self, client: str, tool: str, arguments: Mapping[str, Any]) -> None:
        self.model = client
        self.closing: Callable[[], str] = lambda: RETURNED
        self.result: ToolResult | None = None
        self._call = CallDelta("0", new_id(DIALECT), tool, json.dumps(arguments, ensure_ascii=False))
        self._is_requested = False

    async def stream(self, prompt: Prompt) -> AsyncGenerator[Delta, None]:
        """Yield the call, and after its result a sentence for the person."""
        if not self._is_requested:
            self._is_requested = True
            yield self._call
            yield ReplyEnd("tools", "tool_calls")
            return
        results = (result for message in reversed(prompt.messages) for result in message.results)
        self.result = next(results, None)
        yield TextDelta(self.closing().format(client=self.model))
        yield ReplyEnd("end", "stop")
