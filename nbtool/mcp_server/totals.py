"""What a client called and received, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbtool.events import CallStatus
from nbtool.messages import ToolResult
from nbtool.text import shorten

READING_TOOL = "ReadVar"
"""The tool that returns the value of a variable; its argument `name` says which."""


@dataclass(slots=True)
class ClientTotals:
    """The calls of one client by outcome, and what it received.

    `characters` are those of results, `message_characters` those of the texts about calls without a result; `tools` and
    `variables` count the calls of each tool, and the reads of each variable. `refused` calls became no turn: too many
    were under way, or the notebook stopped serving.
    """

    outcomes: Counter[CallStatus] = field(default_factory=Counter)
    characters: int = 0
    message_characters: int = 0
    media: int = 0
    refused: int = 0
    tools: Counter[str] = field(default_factory=Counter)
    variables: Counter[str] = field(default_factory=Counter)

    @property
    def calls(self) -> int:
        """The number of calls, whatever came of them."""
        return self.outcomes.total()

    def add(self, tool: str, arguments: Mapping[str, Any], status: CallStatus, result: ToolResult | None) -> None:
        """Count a call; without a `result`, its client received nothing.

        Names that a client may invent are not kept: only those of calls of a tool that there is.
        """
        self.outcomes[status] += 1
        if status != "not_found":
            self.tools[tool] += 1
        if status == "ok" and tool == READING_TOOL:
            self.variables[shorten(str(arguments.get("name", "")), 80)] += 1
        if result is None:
            return
        self.media += len(result.media)
        if status == "ok":
            self.characters += len(result.text)
        else:
            self.message_characters += len(result.text)
