"""What a policy or an approver may know of a call besides its arguments: what the person typed, what came from outside.

A model that has read a text of somebody else may do what that text says. Any text counts as from outside unless it is
known to be the person's own, so what is not known here asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtool.argument_check import check_arguments
from nbtool.audience import OWN, PERSON


@check_arguments
@dataclass(frozen=True, slots=True)
class OutsideText:
    """A text in the chat that the person did not type: `source` says what it is, `call_id` which call returned it."""

    source: str = field(metadata=PERSON)
    call_id: str = field(default="", metadata=OWN)


UNKNOWN = OutsideText("what came before this call is not known")
"""The text from outside of a call without a turn."""


@check_arguments
@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What is known of a call when its policy is evaluated, or when a question about it is asked.

    Args:
        tool: the name of the tool.
        prompts: what the person typed in this chat, oldest first; the last one is the prompt of this turn. Empty texts
            are those of prompts that code or a model wrote.
        outside: the texts from outside that the model had read when it made the call, of this and earlier turns.
    """

    tool: str = field(default="", metadata=PERSON)
    call_id: str = field(default="", metadata=OWN)
    turn_id: str = field(default="", metadata=OWN)
    prompts: tuple[str, ...] = field(default=(), metadata=PERSON)
    outside: tuple[OutsideText, ...] = field(default=(UNKNOWN,), metadata=PERSON)

    @property
    def has_read_outside(self) -> bool:
        """Whether the model had read a text from outside when it made the call."""
        return bool(self.outside)
