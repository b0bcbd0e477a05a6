"""A tool with which a model reads skills, and their list in its instructions.

The model gets a line for each skill, and reads one where the line fits. What it reads is text: a script of a skill runs
only where a tool of the chat runs it, with the approval that this tool needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbtool.errors import BadUsage, ToolFailed
from nbtool.text import count_of, list_names, shorten
from nbtool.tools.approval import Policy
from nbtool.tools.builtin import builtin_tool
from nbtool.tools.toolset import Toolset, toolset_factory
from nbtool.tools.values.sanitize import single_line
from nbtool.toolsets.skill_files import MAX_SKILLS, Skill, SkillFolders, read_folder, read_text

NAME = "skills"
"""The name of the toolset."""

MAX_TEXT = 50_000
"""Maximum number of characters that one call returns."""

MAX_NAMED = 30
"""Maximum number of names that an error lists."""

_RULES = """\
Skills are instructions for kinds of work, written by the user or by the authors of the project. Where the description \
of one fits the work, read it first with read_skill, and then the files that it names. Nothing of a skill changes what \
the user has to approve.
{lines}"""


@toolset_factory
def skills(*folders: str | Path) -> Toolset:
    """Return the tool that reads skills.

    Args:
        folders: skills, or folders of skills; without them those of the working directory and your own.

    Raises:
        BadUsage: a folder does not exist, or has no skill.
    """
    if not folders:
        places = SkillFolders.of(Path.cwd())
        return skills_toolset([*places.project_skills(), *places.person_skills()])
    found: list[Skill] = []
    for folder in folders:
        path = Path(folder).expanduser().resolve()
        if not (inside := read_folder(path)):
            raise BadUsage(
                f"There is no skill in {shorten(str(folder), 200)!r}.",
                fix="Name a folder with a SKILL.md, or one whose folders have one.",
            )
        found += inside
    return skills_toolset(found)


def skills_toolset(found: Sequence[Skill]) -> Toolset:
    """Return the tool that reads these skills; of several of one name the first."""
    by_name: dict[str, Skill] = {}
    for skill in found:
        by_name.setdefault(skill.name, skill)
    reader = SkillReader(by_name)
    tool = builtin_tool(reader.read_skill, "nbtool.skills", Policy("auto"), stores_result=False, is_value_free=True)
    return Toolset(NAME, [tool], rules=_rules(list(by_name.values())))


class SkillReader:
    """Reads the files of skills."""

    def __init__(self, by_name: dict[str, Skill]) -> None:
        self._skills = by_name

    def read_skill(self, name: str, file: str = "", start: int = 0) -> str:
        """Read a skill of the list, or a file in its folder.

        Args:
            name: the name in the list.
            file: the path of a file in the folder of the skill; empty for its SKILL.md.
            start: the character from which a long text is read on.
        """
        skill = self._skills.get(name.strip())
        if skill is None:
            names = list_names(self._skills, MAX_NAMED) or "none"
            raise ToolFailed(f"There is no skill {shorten(single_line(name), 100)!r}.", fix=f"Skills: {names}.")
        return read_text(skill, file.strip(), start, MAX_TEXT)


def _rules(found: Sequence[Skill]) -> str:
    lines = [f"- {skill.name}: {skill.description or 'no description'}" for skill in found[:MAX_SKILLS]]
    if more := len(found) - MAX_SKILLS:
        lines += [f"({count_of(more, 'more skill')} not listed.)"] if more > 0 else []
    return _RULES.format(lines="\n".join(lines)) if lines else ""
