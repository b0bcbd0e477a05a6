from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from nbtool.magics.commands.state.doctor import WIDTH
from tests.compat.page import open_page
from tests.magics.commands.saying import run_command


def answers(text: str) -> dict[str, tuple[str, str]]:
    """Return what was found: by its subject, whether it is possible, and the answer."""
    lines = re.findall(r"^(yes|no|\?) +(\S(?:[^ ]| (?! ))*) {2,}(.*)$", text, re.MULTILINE)
    return {subject: (word, answer) for word, subject, answer in lines}


def test_without_a_page_it_says_what_there_is(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = run_command(shell, "status --check", capsys)
    found = answers(text)

    assert text.startswith("nbtool ")
    assert found["page"] == ("no", "no kernel: a terminal")
    assert found["line of input"][0] == "no"  # pytest is no person
    assert found["parking"][0] == "no"
    assert found["threads"][0] == "yes"
    assert found["journal"] == ("yes", "$NBTOOL_HOME/journal.sqlite, writable")
    assert not {"click by comm", "cells", "diagrams"} & set(found)
    assert max(map(len, text.splitlines())) <= WIDTH


def test_each_finding_is_followed_by_a_line_of_advice(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run_command(shell, "status --check", capsys).splitlines()
    found = [at for at, line in enumerate(lines) if re.match(r"(yes|no|\?) ", line)][:-1]

    assert len(found) >= 7
    assert all(lines[at + 1].startswith("     ") for at in found)


def test_a_journal_that_cannot_be_written_is_reported_with_what_to_do(
    shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NBTOOL_HOME", str(tmp_path / "file" / "home"))
    text = run_command(shell, "status --check", capsys)

    assert answers(text)["journal"][0] == "no"
    assert "Set NBTOOL_HOME to a folder of yours." in text


def test_a_kernel_without_a_page_that_answers_says_so_and_ends() -> None:
    with open_page() as page:
        page.run("%load_ext nbtool")
        found = answers(page.run("%chat status --check"))

    assert found["page"] == ("no", "none that runs widgets has answered")
    assert found["click by control"] == ("?", "no page has answered")
    assert found["line of input"][0] == found["parking"][0] == "yes"


@pytest.mark.sampled(0)
def test_in_vs_code_without_a_page_that_answers_the_setting_of_its_widgets_is_named() -> None:
    with open_page() as page:
        page.run("%load_ext nbtool")
        text = page.run("%chat status --check", cell_id="vscode-notebook-cell:/home/ada/first.ipynb#W0sZmlsZQ%3D%3D")

    assert "jupyter.widgetScriptSources" in text
    assert '["jsdelivr.com", "unpkg.com"]' in text
