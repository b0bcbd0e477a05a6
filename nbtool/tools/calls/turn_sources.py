"""Which texts of a turn the person typed, and which came from outside: what policies and approvers may know of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbtool.tools.approval import OutsideText, PolicyContext
from nbtool.tools.approval.context import UNKNOWN
from nbtool.turn_state import Call

AT_PROVIDER = "the results of {tool}, which ran at the provider"


@dataclass(frozen=True, slots=True)
class _Read:
    """A text from outside, and the round whose calls were made before the model had it."""

    text: OutsideText
    round: int


@dataclass(slots=True, weakref_slot=True)
class TurnSources:
    """The sources of a turn's texts.

    Args:
        prompts: what the person typed, in this turn and those before it.
        earlier: the texts from outside that the model gets with the first request of the turn.
        own: those of them that are of this turn, and not of one before it.
    """

    turn_id: str = ""
    prompts: tuple[str, ...] = ()
    earlier: tuple[OutsideText, ...] = (UNKNOWN,)
    own: tuple[OutsideText, ...] = ()
    _read: list[_Read] = field(default_factory=list)

    @property
    def own_texts(self) -> tuple[OutsideText, ...]:
        """The texts from outside of this turn so far, without those of the turns before it."""
        return (*self.own, *(read.text for read in self._read))

    def note_prompt(self, text: str) -> None:
        """Note what the person added to the turn while it ran."""
        self.prompts = (*self.prompts, text)

    def note_call(self, record: Call) -> None:
        """Note that a call has ended, whose text the model may get."""
        if record.is_from_outside and record.status in ("ok", "error"):
            self._read.append(_Read(OutsideText(record.display_name, record.call_id), record.round))

    def note_provider_tool(self, tool: str, round: int) -> None:
        """Note a tool that the provider ran within a reply: its calls may follow from what it returned."""
        self._read.append(_Read(OutsideText(AT_PROVIDER.format(tool=tool)), round - 1))

    def context(self, tool: str, call_id: str, round: int, *, is_nested: bool) -> PolicyContext:
        """Return what is known of a call.

        The calls of one round were made before any of them had a result, but a script has the results of its calls.
        """
        read = (item.text for item in self._read if is_nested or item.round < round)
        return PolicyContext(tool, call_id, self.turn_id, self.prompts, tuple(dict.fromkeys((*self.earlier, *read))))
