"""Notebooks as text (jupytext), and the scripts that are made of them: every prompt comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.processes import find_overlay, printed_by, run_command, sources_of, start_command, write_notebook
from tests.compat.test_runs import SETUP

pytestmark = pytest.mark.nightly

PROMPT = """%%chat -m practice:fast -t double -o first
Use &`double` with 21.

# %% a line that would begin a cell
# a heading
%%time is no magic here.
  - "indented, with 'quotes' and a backslash \\\\
"""
CHECK = "print('GOT', received, first.status, first.prompt.text.count('\\n'))"
CELLS = [SETUP, PROMPT.rstrip(), CHECK]
GOT = "GOT [21] completed 5\n"
SETTINGS = 'custom_cell_magics = "chat"\n'


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    return write_notebook(tmp_path / "chat.ipynb", *CELLS)


def jupytext(notebook: Path, *words: str) -> str:
    return run_command("-m", "jupytext", *words, cwd=notebook.parent, overlay=find_overlay("tools"))


@pytest.mark.parametrize("form", ["py:percent", "py:light", "md:myst", "md"])
def test_with_the_setting_of_the_docs_a_prompt_is_the_same_after_both_ways_and_runs(notebook: Path, form: str) -> None:
    file = notebook.with_suffix(f".{form.partition(':')[0]}")
    if form != "md":
        (notebook.parent / "jupytext.toml").write_text(SETTINGS, encoding="utf-8")

    jupytext(notebook, "--to", form, notebook.name)
    (notebook.parent / "jupytext.toml").unlink(missing_ok=True)  # the file says itself how it is read
    jupytext(notebook, "--to", "ipynb", "--execute", file.name, "--output", "again.ipynb")

    assert sources_of(notebook.parent / "again.ipynb") == CELLS
    assert printed_by(notebook.parent / "again.ipynb").endswith(GOT)
    if form.startswith("py"):
        compile(file.read_text(encoding="utf-8"), file.name, "exec")


def test_only_a_cell_of_its_language_has_a_prompt_without_the_marks_of_a_comment(notebook: Path) -> None:
    (notebook.parent / "jupytext.toml").write_text(SETTINGS, encoding="utf-8")
    script = notebook.parent / "typed.py"
    script.write_text('# %%\n# %%chat\n# Hello\n\n# %% language="chat"\n# Hello\n', encoding="utf-8")
    jupytext(script, "--to", "ipynb", script.name)

    assert sources_of(notebook.parent / "typed.ipynb") == ["%%chat\n# Hello", "%%chat\nHello"]


def test_without_the_setting_a_percent_script_is_no_python(notebook: Path) -> None:
    jupytext(notebook, "--to", "py:percent", notebook.name)

    with pytest.raises(SyntaxError):
        compile((notebook.parent / "chat.py").read_text(encoding="utf-8"), "chat.py", "exec")


def test_a_paired_script_that_was_edited_changes_the_prompt_of_the_notebook(notebook: Path) -> None:
    (notebook.parent / "jupytext.toml").write_text(f'formats = "ipynb,py:percent"\n{SETTINGS}', encoding="utf-8")
    jupytext(notebook, "--sync", notebook.name)
    script = notebook.with_suffix(".py")

    script.write_text(script.read_text(encoding="utf-8").replace("with 21.", "with 4."), encoding="utf-8")
    jupytext(notebook, "--sync", script.name)

    assert sources_of(notebook)[1] == CELLS[1].replace("with 21.", "with 4.")


def test_ipython_runs_the_notebook_and_the_script_that_nbconvert_makes_of_it(notebook: Path) -> None:
    run_command("-m", "nbconvert", "--to", "python", notebook.name, cwd=notebook.parent)

    for name in ("chat.ipynb", "chat.py"):
        output = run_command("-m", "IPython", "--colors=nocolor", name, cwd=notebook.parent)
        assert "double(n=21)" in output
        assert output.rstrip().endswith(GOT.rstrip())


def test_a_percent_script_under_ipython_runs_its_code_and_leaves_its_prompts_as_comments(notebook: Path) -> None:
    (notebook.parent / "jupytext.toml").write_text(SETTINGS, encoding="utf-8")
    jupytext(notebook, "--to", "py:percent", notebook.name)

    done = start_command("-m", "IPython", "--colors=nocolor", "chat.py", cwd=notebook.parent)

    assert "NameError: name 'first' is not defined" in done.stdout + done.stderr
