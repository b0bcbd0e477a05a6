"""Notebooks that nobody watches, scripts, and what is left of a turn where only the basics are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from bleach.sanitizer import Cleaner

from tests.compat.processes import find_overlay, outputs_of, printed_by, run_command, write_notebook

SETUP = """%load_ext nbtool
from nbtool import tool
received = []
@tool(run="auto")
def double(n: int) -> int:
    "Twice a number."
    received.append(n)
    return 2 * n
@tool
def halve(n: int) -> float:
    "Half of a number."
    received.append(-n)
    return n / 2"""
CELLS = [
    SETUP,
    "%%chat -m practice:fast -t double -o first\nUse &`double` with 21..",
    "%%chat -m practice:fast -t halve -o second\nUse &`halve` with 42.",
    "print('GOT', received, first.calls[0].status, second.calls[0].status)",
]
BASIC = ["details", "summary", "p", "pre", "code", "ul", "ol", "li", "em", "strong", "br", "blockquote", "div", "span"]
"""What pages that show other people's notebooks leave of their HTML, more or less."""

MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    from nbtool import Chat, tool

    @tool(run="auto")
    def double(n: int) -> int:
        "Twice a number."
        return 2 * n

    turn = Chat("practice:fast", tools=[double]).send("Use `double` with 21.")
    print("GOT", turn.status, turn.calls[0].result)
    turn
    return
"""


def html_of(path: Path) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs_of(path))


@pytest.fixture(scope="module")
def executed_notebook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a notebook as papermill leaves it."""
    folder = tmp_path_factory.mktemp("papermill")
    write_notebook(folder / "run.ipynb", *CELLS)
    run_command(
        "-m", "papermill", "--log-level", "ERROR", "run.ipynb", "done.ipynb", cwd=folder, NBTOOL_HOME=str(folder)
    )
    return folder / "done.ipynb"


@pytest.mark.sampled(0)
def test_papermill_runs_it_and_leaves_readable_cells(executed_notebook: Path) -> None:
    assert printed_by(executed_notebook).endswith("GOT [21] ok denied\n")
    assert "double(n=21)" in html_of(executed_notebook)


@pytest.mark.promise("reads-alone")
def test_nbconvert_shows_the_turn_without_a_script_or_a_fetch_of_ours(executed_notebook: Path) -> None:
    run_command(
        "-m", "nbconvert", "--to", "html", "--output", "page", executed_notebook.name, cwd=executed_notebook.parent
    )
    page = (executed_notebook.parent / "page.html").read_text(encoding="utf-8")
    shown = page[page.index("double(n=21)") - 4_000 :]

    assert "Nobody can be asked here" in shown
    assert "<script" not in shown
    assert "<img" not in shown


@pytest.mark.promise("reads-alone")
def test_a_viewer_that_leaves_only_basic_html_still_shows_the_calls_in_order(executed_notebook: Path) -> None:
    bare = Cleaner(tags=BASIC, attributes={}, strip=True).clean(html_of(executed_notebook))

    assert bare.index("double(n=21)") < bare.index("halve(n=42)") < bare.index("denied")


def test_a_plain_script_uses_the_same_chat(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "from nbtool import Approved, Chat\n"
        "def double(n: int) -> int:\n    'Twice a number.'\n    return 2 * n\n"
        "chat = Chat('practice:fast', tools=[double], approver=lambda question: Approved())\n"
        "turn = chat.send('Use `double` with 21.')\n"
        "print('GOT', turn.status, turn.calls[0].result)\n",
        encoding="utf-8",
    )

    assert run_command("script.py", cwd=tmp_path) == "GOT completed 42\n"


@pytest.mark.nightly
def test_marimo_runs_it_as_functions_and_shows_the_turn(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(MARIMO, encoding="utf-8")
    command = ("-m", "marimo", "export", "html", "app.py", "-o", "page.html")
    run_command(*command, cwd=tmp_path, overlay=find_overlay("marimo"))

    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "GOT completed 42" in page
    assert "double(n=21)" in page
