"""The skills that chats of cells can read: the person's own, and those of the notebook's folder once they are allowed.

Skills of a folder are instructions, and the folder may be a downloaded project: the person is asked once, before the
first prompt, and again when one of the files changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from nbtool.blocks.sanitize import one_line
from nbtool.chat.chat import Chat
from nbtool.errors import BadUsage, SettingsError
from nbtool.folder_consent import Consent
from nbtool.magics.kernel.cell_messages import can_ask_for_input
from nbtool.magics.kernel.page_lines import is_agreed
from nbtool.text import count_of, list_names
from nbtool.tools.toolset import Toolset
from nbtool.toolsets.skill_files import MAX_COMPARED_BYTES, MAX_COMPARED_FILES, Skill, SkillFolders, content_parts
from nbtool.toolsets.skill_tools import NAME, skills_toolset

MAX_NAMED = 8
"""How many skills the question names; the others are counted."""

ALLOWED = Consent("allowed-skills", "Use `-t nbtool:skills`, which needs no consent.")
DECLINED = Consent("declined-skills", ALLOWED.instead)

_QUESTION = """\
This folder has {skills}. May the model read them? They are instructions; nothing of them runs.
Yes holds until a file changes; `%chat skills forget` takes it back, and `%chat skills allow` gives it later."""
_NOT_USED = "This folder has {skills}, which the model cannot read before you allow it: `%chat skills allow`."
_TOO_MANY = (
    f"The skills of this folder have more than {MAX_COMPARED_FILES:,} files or {MAX_COMPARED_BYTES >> 20} MiB, so that"
    " changes would not be noticed."
)

_reported: set[tuple[str, ...]] = set()
"""The skills of which this kernel has said that they are not used."""


@dataclass(frozen=True, slots=True)
class FolderSkills:
    """The skills of a folder and of the person; `parts` identify the content of the former, None: too many files."""

    project: Sequence[Skill]
    person: Sequence[Skill]
    parts: tuple[str, ...] | None

    @classmethod
    def here(cls) -> FolderSkills:
        """Return those of the working directory."""
        try:
            places = SkillFolders.of(Path.cwd())
        except OSError:  # it was deleted
            places = SkillFolders()
        project = places.project_skills()
        parts = content_parts(project) if project else []
        return cls(project, places.person_skills(), None if parts is None else tuple(parts))

    @property
    def is_allowed(self) -> bool:
        """Whether the person allowed the skills of the folder, as they are."""
        return bool(self.parts) and ALLOWED.is_given(self.parts or ())

    @property
    def is_declined(self) -> bool:
        """Whether the person was asked and did not allow them."""
        return bool(self.parts) and DECLINED.is_given(self.parts or ())

    @property
    def usable(self) -> list[Skill]:
        """Return the skills that a chat of cells may read."""
        return [*(self.project if self.is_allowed else ()), *self.person]

    def allow(self) -> None:
        """Allow the skills of the folder until one of their files changes.

        Raises:
            BadUsage: they are too many to notice a change.
            SettingsError: the consent cannot be kept.
        """
        if self.parts is None:
            raise BadUsage(_TOO_MANY, fix="Name those that you want: `skills(FOLDER)` of nbtool.toolsets.")
        DECLINED.revoke(self.parts)
        ALLOWED.give(self.parts)

    def forget(self) -> None:
        """Take back what was answered."""
        ALLOWED.revoke(self.parts or ())
        DECLINED.revoke(self.parts or ())

    def describe(self) -> str:
        """Return how many skills the folder has, and some of their names."""
        names = [f"`{one_line(skill.name, 64)}`" for skill in self.project]
        return f"{count_of(len(names), 'skill')} for models: {list_names(names, MAX_NAMED)}"


class CellSkills:
    """Gives chats of cells the skills that they may read."""

    def __init__(self) -> None:
        self._given: WeakKeyDictionary[Chat, tuple[list[Skill], Toolset]] = WeakKeyDictionary()

    def offer(self, shell: Any, chat: Chat, *, is_on: bool, may_ask: bool) -> None:
        """Give a chat the skills that are there now, after a question about those of the folder; or take them away."""
        found = FolderSkills.here() if is_on else FolderSkills((), (), ())
        if found.project and not (found.is_allowed or found.is_declined):
            _ask(shell, found, may_ask=may_ask and found.parts is not None)
        usable = found.usable
        former = self._given.get(chat)
        named = next((source for source in chat.tools.sources if source.name == NAME), None)
        if named is not None and (former is None or named is not former[1]):
            return  # the person's own
        if former and former[0] == usable and named is not None:
            return
        if named is not None:
            chat.tools.remove(NAME)
        self._given.pop(chat, None)
        if usable:
            toolset = skills_toolset(usable)
            chat.tools.add(toolset)
            self._given[chat] = usable, toolset


def _ask(shell: Any, found: FolderSkills, *, may_ask: bool) -> None:
    """Ask once, with one line of input; where nobody can be asked, say once that the skills are not used."""
    if may_ask and can_ask_for_input(shell):
        consent = ALLOWED if is_agreed(shell, _QUESTION.format(skills=found.describe())) else DECLINED
        try:
            consent.give(found.parts or ())
            return
        except SettingsError as error:
            print(error)  # noqa: T201 - a notice for the person
    key = found.parts or tuple(str(skill.path) for skill in found.project)
    if key not in _reported:
        _reported.add(key)
        print(_NOT_USED.format(skills=found.describe()))  # noqa: T201 - a notice for the person
