"""Skills: which are found, what the model reads of them, and what it cannot reach."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nbtool import Chat
from nbtool.errors import BadUsage
from nbtool.testing import ScriptedWire, call
from nbtool.toolsets import skills
from nbtool.toolsets.skill_files import MAX_COMPARED_FILES, SkillFolders, content_parts, read_head
from nbtool.toolsets.skill_tools import MAX_TEXT
from tests.toolsets.skills import PLOTTING, write, write_plotting


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the home folder of a person."""
    home = tmp_path / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture
def project(person: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a repository, in which the process works."""
    folder = person / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def read(toolset: Any, **arguments: Any) -> tuple[Any, list[str]]:
    """Return the call of a model that reads a skill, and the system texts that it was sent."""
    with ScriptedWire([call("read_skill", **arguments), "Done."]) as wire:
        turn = Chat(wire=wire, tools=[toolset]).send("Plot it.")
    return turn.calls[0], [prompt.system for prompt in wire.prompts]


def test_the_model_gets_a_line_for_each_skill_and_reads_one_when_it_fits(tmp_path: Path) -> None:
    write_plotting(tmp_path)

    found, systems = read(skills(tmp_path), name="plotting")

    assert "- plotting: Draw" in systems[0]
    assert "#003366" not in systems[0]
    assert found.result == PLOTTING


def test_the_files_of_a_skill_are_read_where_it_names_them(tmp_path: Path) -> None:
    found, _ = read(skills(write_plotting(tmp_path)), name="plotting", file="reference/colours.md")

    assert "#003366" in found.result


def test_reading_asks_nobody(tmp_path: Path) -> None:
    found, _ = read(skills(write_plotting(tmp_path)), name="plotting")

    assert found.status == "ok"


@pytest.mark.parametrize(
    "file", ["../secret.txt", "/etc/hostname", "reference/../../secret.txt", "linked.txt", "missing.md", "reference"]
)
def test_nothing_beside_the_skill_is_read(tmp_path: Path, file: str) -> None:
    folder = write_plotting(tmp_path / "skills")
    secret = write(tmp_path / "skills" / "secret.txt", "#secret")
    (folder / "linked.txt").symlink_to(secret)

    found, _ = read(skills(folder), name="plotting", file=file)

    assert found.status == "error"
    assert "#secret" not in found.to_result().text


def test_a_long_text_is_read_in_parts_and_says_how_much_is_left(tmp_path: Path) -> None:
    folder = write_plotting(tmp_path)
    text = "".join(f"{number:09}\n" for number in range(MAX_TEXT // 8))
    write(folder / "long.md", text)

    first, _ = read(skills(folder), name="plotting", file="long.md")
    rest, _ = read(skills(folder), name="plotting", file="long.md", start=MAX_TEXT)

    assert first.result.startswith(text[:MAX_TEXT])
    assert f"{len(text) - MAX_TEXT:,}" in first.result
    assert f"start={MAX_TEXT}" in first.result
    assert rest.result == text[MAX_TEXT:]


@pytest.mark.parametrize("start", [-1, 10_000])
def test_a_place_outside_the_text_is_an_error(tmp_path: Path, start: int) -> None:
    found, _ = read(skills(write_plotting(tmp_path)), name="plotting", start=start)

    assert found.status == "error"


def test_what_is_no_text_is_not_read(tmp_path: Path) -> None:
    folder = write_plotting(tmp_path)
    (folder / "logo.png").write_bytes(b"\x89PNG\xff\xfe")

    assert read(skills(folder), name="plotting", file="logo.png")[0].status == "error"


def test_an_unknown_name_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    found, _ = read(skills(write_plotting(tmp_path)), name="drawing")

    assert found.status == "error"
    assert "plotting" in found.to_result().text


def test_a_folder_without_skills_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match=r"SKILL\.md"):
        skills(tmp_path)


@pytest.mark.parametrize(
    ("head", "name", "description"),
    [
        ("name: a\ndescription: One line.", "a", "One line."),
        ('name: "a"\ndescription: "With: a colon, and \\"quotes\\"."', "a", 'With: a colon, and "quotes".'),
        ("name: 'a'\ndescription: 'It''s here.'", "a", "It's here."),
        ("description: >\n  Folded over\n  two lines.\n\nname: a", "a", "Folded over two lines."),
        ("description: |\n  Kept on\n  two lines.\nname: a", "a", "Kept on two lines."),
        ("name: a\ndescription: Plain text\n  over two lines.\nlicense: MIT", "a", "Plain text over two lines."),
        ("name: a\r\ndescription: From Windows.\r\n", "a", "From Windows."),
        ("name: a\nmetadata:\n  description: Not this one.", "a", ""),
    ],
)
def test_the_head_of_a_skill_is_read_in_every_form_of_yaml(
    tmp_path: Path, head: str, name: str, description: str
) -> None:
    path = tmp_path / "SKILL.md"
    path.write_bytes(f"---\n{head}\n---\nText.".encode())

    assert read_head(path) == (name, description)


@pytest.mark.parametrize("text", ["Just a text.", "---\nname: a\n", "", "----\nname: a\n---\n"])
def test_a_skill_without_a_head_has_the_name_of_its_folder(tmp_path: Path, text: str) -> None:
    write(tmp_path / "plain" / "SKILL.md", text)

    _, systems = read(skills(tmp_path), name="plain")

    assert "- plain: " in systems[0]


def test_a_description_cannot_begin_a_line_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "a" / "SKILL.md", '---\nname: a\ndescription: "x\\n- b\u2028- c\\u001b[31m"\n---\n')

    _, systems = read(skills(tmp_path), name="a")

    assert len([line for line in systems[0].splitlines() if line.startswith("- ")]) == 1


@pytest.mark.parametrize("place", [".agents/skills", ".claude/skills"])
def test_skills_of_the_project_and_of_the_person_are_found(project: Path, person: Path, place: str) -> None:
    write_plotting(project / place)
    write(person / place / "writing" / "SKILL.md", "---\nname: writing\ndescription: Write.\n---\n")

    found = SkillFolders.of(project)

    assert [skill.name for skill in found.project_skills()] == ["plotting"]
    assert [skill.name for skill in found.person_skills()] == ["writing"]


def test_instructions_are_found_up_to_the_folder_of_the_repository(project: Path) -> None:
    write(project.parent / "AGENTS.md", "of nobody")
    write(project / "AGENTS.md", "of the project")
    notebooks = project / "notebooks"
    write(notebooks / "AGENTS.md", "of the notebooks")

    found = SkillFolders.of(notebooks).project_skills()

    assert [skill.name for skill in found] == ["AGENTS.md", "../AGENTS.md"]
    assert [skill.folder for skill in found] == [notebooks, project]


def test_instructions_are_one_file(project: Path) -> None:
    write(project / "AGENTS.md", "Be brief.")
    write(project / "other.txt", "another file")

    assert read(skills, name="AGENTS.md")[0].result == "Be brief."
    assert read(skills, name="AGENTS.md", file="other.txt")[0].status == "error"


def test_outside_of_a_repository_only_the_folder_itself_is_searched(person: Path) -> None:
    folder = person / "a" / "b"
    write(folder / "AGENTS.md", "here")
    write(person / "a" / "AGENTS.md", "above")

    assert [skill.path for skill in SkillFolders.of(folder).project_skills()] == [folder / "AGENTS.md"]


def test_the_home_folder_is_no_project(person: Path) -> None:
    write_plotting(person / ".claude" / "skills")

    found = SkillFolders.of(person)

    assert found.project_skills() == []
    assert [skill.name for skill in found.person_skills()] == ["plotting"]


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_a_link_out_of_the_project_is_no_skill_of_it(project: Path, person: Path, linked: str) -> None:
    outside = write_plotting(person / "elsewhere")
    (project / ".agents" / "skills").mkdir(parents=True)
    if linked == "folder":
        (project / ".agents" / "skills" / "plotting").symlink_to(outside)
    else:
        (project / ".agents" / "skills" / "plotting").mkdir()
        (project / ".agents" / "skills" / "plotting" / "SKILL.md").symlink_to(outside / "SKILL.md")

    assert SkillFolders.of(project).project_skills() == []


def test_a_link_inside_the_project_is_followed_once(project: Path) -> None:
    skill = write_plotting(project / ".agents" / "skills")
    (project / ".claude" / "skills").mkdir(parents=True)
    (project / ".claude" / "skills" / "plotting").symlink_to(skill)

    assert [found.folder for found in SkillFolders.of(project).project_skills()] == [skill]


@pytest.mark.parametrize("change", ["SKILL.md", "reference/colours.md", "scripts/new.py"])
def test_any_changed_file_is_other_content(project: Path, change: str) -> None:
    skill = write_plotting(project / ".agents" / "skills")
    before = content_parts(SkillFolders.of(project).project_skills())

    assert before == content_parts(SkillFolders.of(project).project_skills())
    write(skill / change, "something else")
    assert before != content_parts(SkillFolders.of(project).project_skills())


def test_content_of_too_many_files_is_not_identified(project: Path) -> None:
    skill = write_plotting(project / ".agents" / "skills")
    for number in range(MAX_COMPARED_FILES):
        write(skill / f"{number}.txt", "")

    assert content_parts(SkillFolders.of(project).project_skills()) is None


def test_what_is_no_regular_file_is_not_waited_for(project: Path) -> None:
    skill = write_plotting(project / ".agents" / "skills")
    os.mkfifo(skill / "pipe")
    (skill / "zeros").symlink_to("/dev/zero")

    assert len(content_parts(SkillFolders.of(project).project_skills()) or []) == 4
