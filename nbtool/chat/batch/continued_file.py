"""A file of answers that a later map continues: what it says of a map that was killed, and of calls that started."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from nbtool.chat.batch.prompts import PromptItem


class ContinuedFile(ABC):
    """What a file knows besides its answers."""

    @property
    @abstractmethod
    def interrupted_since(self) -> float | None:
        """When the last map began if it was killed; None if it was not."""

    @abstractmethod
    def end_recovery(self) -> None:
        """Forget that a map was killed, once all prompts have been looked at; one that is stopped before keeps it."""

    @abstractmethod
    def expect_recovery(self) -> None:
        """Note that answers came which have no row: the next map looks for them in the journal, as after a kill."""

    @abstractmethod
    def known_turns(self, turn_ids: Sequence[str]) -> set[str]:
        """Return those of the turns that have a row."""

    @abstractmethod
    def acted_turns(self, items: Sequence[PromptItem]) -> dict[int, str]:
        """Return the turns of prompts of which a call had started, by their rows; empty where it is not known."""
