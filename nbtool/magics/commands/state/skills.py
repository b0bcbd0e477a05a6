"""The command `skills`: which skills the model can read; allow those of the folder, or take that back."""

from __future__ import annotations

from nbtool.blocks.sanitize import one_line
from nbtool.errors import BadUsage
from nbtool.magics.cell.cell_skills import FolderSkills
from nbtool.magics.commands.context import CommandContext
from nbtool.settings import display_path
from nbtool.text import count_of
from nbtool.toolsets.skill_files import Skill

MAX_SHOWN = 100
"""Characters of a description that are shown."""


def skills(_: CommandContext, args: list[str]) -> str:
    """List skills of folder and person: `skills [allow|forget]`.

    Folders with a SKILL.md, and AGENTS.md. `skills allow` allows those of the notebook's folder until one of their
    files changes, `skills forget` takes back what was answered.
    """
    found = FolderSkills.here()
    match args:
        case []:
            return "\n".join(_list(found)) or "There are no skills, neither in this folder nor of your own."
        case ["allow"] if found.project:
            found.allow()
            return f"The model can read {count_of(len(found.project), 'skill')} of this folder, until a file changes."
        case ["forget"] if found.project:
            found.forget()
            return "The model cannot read the skills of this folder; a cell asks again."
        case ["allow" | "forget"]:
            return "This folder has no skills."
    raise BadUsage("%chat skills takes no arguments, `allow` or `forget`.")


def _list(found: FolderSkills) -> list[str]:
    state = "allowed" if found.is_allowed else "not allowed: `%chat skills allow`"
    lines = [f"Of this folder ({state}):"] if found.project else []
    lines += [_line(skill) for skill in found.project]
    lines += ["Your own:"] if found.person else []
    return lines + [_line(skill) for skill in found.person]


def _line(skill: Skill) -> str:
    description = one_line(skill.description, MAX_SHOWN)
    return f"  {one_line(skill.name, 64)}: {description} ({display_path(skill.path)})"
