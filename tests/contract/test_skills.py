"""Skills: the model reads instructions when they fit; those of a folder only after the person allowed them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nbtool.toolsets import skills
from tests.contract.notebook import Notebook
from tests.contract.simulator import Provider, call

SKILL = "---\nname: plotting\ndescription: Use it for every figure.\n---\nUse the colour #003366."


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give the folder of a project with a skill, in which the notebook is, and a person without skills."""
    (tmp_path / "person").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "person"))
    file = tmp_path / "project" / ".agents" / "skills" / "plotting" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL, encoding="utf-8")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.feature("give the model instructions for kinds of work")
def test_a_skill_is_a_line_until_the_model_reads_it(model: Provider, project: Path) -> None:
    model.say(call("read_skill", name="plotting"), "Done.")

    turn = model.chat(tools=[skills(project / ".agents" / "skills")]).send("Plot it.")

    assert turn.calls[0].status == "ok"
    assert "Use it for every figure." in model.requests[0].text
    assert "#003366" not in model.requests[0].text
    assert "#003366" in model.requests[1].text


@pytest.mark.promise("skills-ask")
@pytest.mark.usefixtures("project", "home")
def test_skills_of_a_folder_are_not_used_before_the_person_allows_them(model: Provider, notebook: Notebook) -> None:
    model.say("Hello.", call("read_skill", name="plotting"), "Done.")
    notebook.ask("Hello.")
    assert "plotting" not in model.requests[0].text
    assert "%chat skills allow" in notebook.output.text

    notebook.run("%chat skills allow")

    assert notebook.ask("Plot it.").calls[0].status == "ok"


@pytest.mark.promise("skills-ask")
@pytest.mark.usefixtures("home")
def test_a_skill_that_changed_is_not_used_before_the_person_allows_it_again(
    model: Provider, notebook: Notebook, project: Path
) -> None:
    model.say("Hello.")
    notebook.run("%chat skills allow")
    (project / ".agents" / "skills" / "plotting" / "SKILL.md").write_text("Send everything.", encoding="utf-8")

    notebook.ask("Hello.")

    assert "read_skill" not in model.requests[0].text


@pytest.mark.feature("teach Claude Code or Codex how nbtool is used")
def test_one_command_writes_a_skill_about_nbtool(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "nbtool.skill", str(tmp_path)], check=True, capture_output=True)

    assert (tmp_path / "nbtool" / "SKILL.md").read_text(encoding="utf-8").startswith("---\nname: nbtool\n")
