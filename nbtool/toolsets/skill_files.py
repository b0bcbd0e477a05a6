"""Find skills: folders with a `SKILL.md`, and files `AGENTS.md`, of a project and of the person.

Both are open conventions: https://agentskills.io/specification and https://agents.md. Files are read and nothing of
them runs.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from nbtool.errors import ToolFailed
from nbtool.text import count_of, shorten
from nbtool.tools.values.sanitize import single_line
from nbtool.toolsets.sandboxed_folder import SandboxedFolder

SKILL_FILE, AGENTS_FILE = "SKILL.md", "AGENTS.md"

SKILL_FOLDERS = (".agents/skills", ".claude/skills")
"""Where a project and a person keep skills, below the folder of the project and the home folder."""

MAX_SKILLS = 100
"""Maximum number of skills that are offered; more are counted."""

MAX_HEAD = 16 * 1024
"""Bytes of a SKILL.md in which its name and description are searched."""

MAX_NAME = 64
"""Maximum length of a skill's name: https://agentskills.io/specification."""

MAX_DESCRIPTION = 1_024
"""Maximum length of a skill's description that is offered: the same."""

MAX_COMPARED_FILES = 500
"""Maximum number of files of a project's skills whose content a consent covers; of more, the consent covers none."""

MAX_COMPARED_BYTES = 16 * 1024 * 1024
"""Maximum size of these files together."""

AGENTS_DESCRIPTION = "Instructions for work on the files of {where}."

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)(?:\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(name|description)[ \t]*:[ \t]*+(.*+(?:\n(?:[ \t\r].*+|$))*+)", re.MULTILINE)
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, or a file of instructions: a name and a line for the model, and the folder and file to read."""

    name: str
    description: str
    folder: Path
    file: str = SKILL_FILE

    @property
    def path(self) -> Path:
        """Its file."""
        return self.folder / self.file


@dataclass(frozen=True, slots=True)
class SkillFolders:
    """Where skills are searched: the `project`'s folders, the nearest first, and those of the `person`."""

    project: tuple[Path, ...] = ()
    person: tuple[Path, ...] = ()

    @classmethod
    def of(cls, start: Path) -> SkillFolders:
        """Return those of a notebook's folder: up to that of its repository, and of the person."""
        home = _home()
        return cls(tuple(_project_folders(start, home)), tuple(_person_folders(home)))

    def project_skills(self) -> list[Skill]:
        """Return the skills of the project, the nearest first; of several of one name the nearest."""
        found: dict[str, Skill] = {}
        for folder in self.project:
            for skill in (*_skills_below(folder, self.project[-1]), *_instructions(folder, self.project[0])):
                found.setdefault(skill.name, skill)
        return list(found.values())

    def person_skills(self) -> list[Skill]:
        """Return the skills of the person."""
        found: dict[str, Skill] = {}
        for folder in self.person:
            for skill in (*_skills_in(folder / "skills", None), *_own_instructions(folder)):
                found.setdefault(skill.name, skill)
        return list(found.values())


def read_folder(folder: Path) -> list[Skill]:
    """Return the skill that a folder is, or those of the folders in it."""
    return [_read_skill(folder)] if _has_file(folder, SKILL_FILE) else list(_skills_in(folder, None))


def content_parts(skills: Iterable[Skill]) -> list[str] | None:
    """Return what identifies the content of skills, with all files of their folders; None if these are too many."""
    parts: list[str] = []
    count, size = 0, 0
    for skill in skills:
        paths = [skill.path] if skill.file == AGENTS_FILE else _files_below(skill.folder)
        for path in paths:
            count += 1
            if path.is_symlink() or not path.is_file():  # is never read, see `SandboxedFolder`
                continue
            try:
                size += path.stat().st_size
                if count > MAX_COMPARED_FILES or size > MAX_COMPARED_BYTES:
                    return None
                parts += [str(path), hashlib.sha256(path.read_bytes()).hexdigest()]
            except OSError:
                parts += [str(path), "unreadable"]
    return parts


def read_head(path: Path) -> tuple[str, str]:
    """Return the name and the description in the front matter of a SKILL.md; empty where it has none."""
    with path.open("rb") as file:
        text = file.read(MAX_HEAD).decode("utf-8-sig", "replace")
    front = _FRONT_MATTER.match(text)
    fields = {match[1]: _scalar(match[2]) for match in _FIELD.finditer(front[1])} if front else {}
    return fields.get("name", ""), fields.get("description", "")


def _scalar(text: str) -> str:
    """Return a value of YAML: plain, in quotes, or a block, as one line."""
    first, _, rest = text.partition("\n")
    value = rest if _BLOCK.match(first.strip()) else text
    value = single_line(" ".join(value.split()))
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        quote = value[0]
        value = value[1:-1].replace("''", "'") if quote == "'" else re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


def _project_folders(start: Path, home: Path | None) -> Iterator[Path]:
    """Yield a folder and its parents up to that of its repository; only itself where it is in none, or is home."""
    folders = (start, *start.parents)
    top = next((folder for folder in folders if folder != home and (folder / ".git").exists()), start)
    for folder in folders:
        if folder != home:
            yield folder
        if folder == top:
            return


def _person_folders(home: Path | None) -> Iterator[Path]:
    if home is not None:
        yield from dict.fromkeys((home / name).parent for name in SKILL_FOLDERS)


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _skills_below(folder: Path, top: Path) -> Iterator[Skill]:
    for name in SKILL_FOLDERS:
        yield from _skills_in(folder / name, top)


def _skills_in(folder: Path, inside: Path | None) -> Iterator[Skill]:
    """Yield the skills of the folders in a folder; a link that leaves the project is none."""
    with suppress(OSError):
        for entry in sorted(folder.iterdir()):
            path = entry.resolve()
            is_inside = inside is None or path.is_relative_to(inside.resolve())
            if is_inside and _has_file(path, SKILL_FILE):
                yield _read_skill(path)


def _has_file(folder: Path, name: str) -> bool:
    """Whether a folder has a regular file of this name that is no link."""
    path = folder / name
    return path.is_file() and not path.is_symlink()


def _read_skill(folder: Path) -> Skill:
    try:
        name, description = read_head(folder / SKILL_FILE)
    except OSError:
        name, description = "", ""
    name = single_line(name or folder.name)[:MAX_NAME]
    return Skill(name, shorten(description, MAX_DESCRIPTION), folder)


def _instructions(folder: Path, start: Path) -> Iterator[Skill]:
    if _has_file(folder, AGENTS_FILE):
        place = Path(os.path.relpath(folder, start)).as_posix()
        name = AGENTS_FILE if folder == start else f"{place}/{AGENTS_FILE}"
        where = "this folder" if folder == start else f"{place} and below"
        yield Skill(name, AGENTS_DESCRIPTION.format(where=where), folder, AGENTS_FILE)


def _own_instructions(folder: Path) -> Iterator[Skill]:
    if _has_file(folder, AGENTS_FILE):
        yield Skill("your AGENTS.md", "Instructions of the user for all work.", folder, AGENTS_FILE)


def _files_below(folder: Path) -> list[Path]:
    paths = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return sorted(path for _, path in zip(range(MAX_COMPARED_FILES + 1), paths, strict=False))


def read_text(skill: Skill, file: str, start: int, most: int) -> str:
    """Return the text of a file of a skill, from a character on; what is left out is said.

    Raises:
        ToolFailed: there is no such file in the skill, it is no text, or the text is not that long.
    """
    if skill.file == AGENTS_FILE and file not in ("", AGENTS_FILE):
        raise ToolFailed(f"{skill.name} is one file.", fix="Leave `file` out.")
    data, size = SandboxedFolder(skill.folder).read(file or skill.file, MAX_COMPARED_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ToolFailed(f"{shorten(file, 100)} is no text and was not read.") from None
    if size > len(data):
        raise ToolFailed(f"{shorten(file, 100)} has {count_of(size, 'byte')}, above {MAX_COMPARED_BYTES:,}.")
    if start < 0 or start > len(text):
        raise ToolFailed(f"The text has {count_of(len(text), 'character')}, so it does not begin at {start:,}.")
    part = text[start : start + most]
    left = len(text) - start - len(part)
    return f"{part}\n\n({count_of(left, 'more character')}: read on with start={start + most}.)" if left else part
