"""Where nbtool runs: the table of docs/compatibility.md, with the tests of each row.

    python -m tests.compat.where            # run all of it, and write the table and what was recorded
    python -m tests.compat.where marimo     # run the rows whose text has this word

What a run found is kept in `where.json` beside this file, and the table is written from both: a row whose tests
did not all pass says so. A test holds the three together.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
FOUND = Path(__file__).with_name("where.json")
HEAD = "| where | streaming view | approving a call | | tested by |\n|---|---|---|---|---|\n"
PACKAGES = ("ipykernel", "jupyterlab", "notebook", "ipywidgets", "nbclient", "papermill")
NOT_PASSED = frozenset(("failure", "error", "skipped"))
IN_CELL = "a click while the cell runs"
FINISHED = "the finished turn"
How = Literal["tried", "simulated", "not tried"]
"""Whether the place itself was run, or a double of its page sent what it is known to send, to a real kernel."""

WIDGET = "widget under the cell"
WITHOUT_MODULES = "test_without_modules_of_widgets_the_cell_ends_by_input_and_names_the_setting"


@dataclass(frozen=True, slots=True)
class Environment:
    """A row: where, what is seen there, how a call is approved, and the tests (`file`, or `file::test`) that try it."""

    where: str
    view: str
    approval: str
    tests: tuple[str, ...]
    nightly: bool = False
    how: How = "tried"

    @property
    def files(self) -> list[str]:
        """The files of its tests, each once."""
        return list(dict.fromkeys(test.partition("::")[0] for test in self.tests))


PLACES = (
    Environment(
        "JupyterLab 4.6, ipykernel 7.4 and 6.31",
        WIDGET,
        f"{IN_CELL}, whatever the page's subshell setting",
        ("tests/browser/test_first_chat.py",),
    ),
    Environment(
        "the same, a page that is reloaded while its cell runs, saved or not",
        f"{WIDGET} again",
        IN_CELL,
        ("tests/browser/test_reload.py",),
        nightly=True,
    ),
    Environment(
        "the same, several pages or browsers on one turn",
        "widget in each",
        "a click in any, which counts once",
        ("tests/browser/test_two_pages.py",),
    ),
    Environment(
        "JupyterLab 4.6 with jupyter-collaboration 5.0: one notebook, edited together in two browsers",
        "widget in each that trusts the notebook; the end in both",
        "a click in either while the cell runs",
        ("tests/browser/test_together.py",),
        nightly=True,
    ),
    Environment(
        "JupyterLab 4.4, ipykernel 7.4 and 6.31",
        WIDGET,
        IN_CELL,
        ("tests/browser/test_older_lab.py",),
        nightly=True,
    ),
    Environment(
        "Notebook 7.6, ipykernel 7.4",
        WIDGET,
        IN_CELL,
        ("tests/browser/test_chat.py::test_notebook_7_handles_the_click_too",),
    ),
    Environment(
        "ipykernel 7.0, 7.1, 7.2, 7.3",
        "the messages of a widget, also as a page that is loaded asks for them",
        "a click's message while the cell runs",
        ("tests/compat/test_kernels.py",),
        nightly=True,
        how="simulated",
    ),
    Environment(
        "a front end that holds comm messages back while a cell runs, and forwards the control channel",
        WIDGET,
        f"{IN_CELL}, over the control channel",
        (
            "tests/compat/test_control_channel.py"
            "::test_a_front_end_that_holds_back_its_comms_clicks_while_the_cell_runs",
        ),
        how="simulated",
    ),
    Environment(
        "a front end that holds everything of a widget back while a cell runs",
        WIDGET,
        "`--approve park`: a click once the cell has ended",
        ("tests/compat/test_held_back.py",),
        how="simulated",
    ),
    Environment(
        "VS Code 1.139 in a browser, with a double of its extension for Jupyter: [vscode.md](vscode.md)",
        WIDGET,
        f"{IN_CELL}, also in a cell that was out of view",
        ("tests/vscode/test_turns.py",),
        nightly=True,
        how="simulated",
    ),
    Environment(
        "the same, an existing Jupyter server without access to a CDN",
        FINISHED,
        "a line of input",
        ("tests/vscode/test_turns.py::" + WITHOUT_MODULES,),
        nightly=True,
        how="simulated",
    ),
    Environment(
        "Colab's versions: IPython 7.34, ipykernel 6.17, ipywidgets 7.7",
        f"{WIDGET}; without custom widgets the finished turn",
        f"{IN_CELL}; without custom widgets a line of input",
        ("tests/compat/test_colab.py",),
        nightly=True,
        how="simulated",
    ),
    Environment("Colab's own page", "", "", (), how="not tried"),
    Environment("Theia", "", "", (), how="not tried"),
    Environment("thebe, pages whose code runs on a kernel elsewhere", "", "", (), how="not tried"),
    Environment("jupyter-react", "", "", (), how="not tried"),
    Environment(
        "a page whose hello comes late or never",
        FINISHED,
        "a line of input",
        ("tests/magics/cell/test_approver.py::test_a_page_that_never_says_hello_is_followed_by_a_line_of_input",),
    ),
    Environment(
        "a console without a page",
        FINISHED,
        "a line of input",
        ("tests/magics/cell/test_approver.py::test_a_yes_in_a_line_of_input_lets_the_call_run",),
    ),
    Environment(
        "IPython in a terminal", "lines as they come", "a line of input", ("tests/magics/cell/test_approver.py",)
    ),
    Environment(
        "nbclient, papermill, pipes",
        FINISHED,
        "nobody can be asked: denied, and the cell says so",
        ("tests/notebooks/test_notebooks.py", "tests/compat/test_runs.py"),
    ),
    Environment("nbconvert, pages that leave only basic HTML", FINISHED, "", ("tests/compat/test_runs.py",)),
    Environment(
        "any Python, with or without a running loop",
        "events, `Turn`",
        "your `approver=`",
        ("tests/compat/test_runs.py", "tests/chat/test_chat.py"),
    ),
    Environment(
        "marimo, as functions",
        FINISHED,
        "your `approver=`",
        ("tests/compat/test_runs.py::test_marimo_runs_it_as_functions_and_shows_the_turn",),
        nightly=True,
    ),
    Environment(
        "marimo, as widget: `nbtool.view.standalone.turn_widget(chat.start(…, approver=by_click), chat.approvals)`",
        "widget as the cell's value",
        "a click once the cell has ended: marimo delivers none while any cell runs",
        ("tests/compat/test_marimo.py",),
        nightly=True,
    ),
    Environment(
        "JupyterLite 0.8 (Pyodide 314) in Chromium, without threads and sockets",
        WIDGET,
        f"{IN_CELL}, or with `--approve park` once it has ended",
        ("tests/browser/test_lite.py",),
        nightly=True,
    ),
)


def rows(found: dict[str, Any]) -> str:
    """Write the table of what a run found."""
    return HEAD + "".join(f"{_row(place, found['rows'].get(place.where, {}))}\n" for place in PLACES)


def _row(place: Environment, counts: dict[str, int]) -> str:
    tried = ", ".join(f"`{file}`" for file in place.files) + (" (nightly)" if place.nightly else "")
    if place.tests and (not counts or counts["passed"] < counts["tests"] or not counts["tests"]):
        tried += ": **not passed**"
    columns = (place.where, place.view, place.approval, place.how, tried)
    return f"| {' | '.join(columns)} |".replace("|  |", "| |")


def run_environment(place: Environment) -> dict[str, int]:
    """Run the tests of a row; give how many there were, and how many passed."""
    lane = "not weekly and not shots" if place.nightly else "not nightly and not weekly and not shots"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        family = ("-o", "junit_family=xunit1")  # record_property, which some lanes use, is not in xunit2
        command = [sys.executable, "-m", "pytest", "-q", "-m", lane, *family, f"--junitxml={report}", *place.tests]
        subprocess.run(command, cwd=ROOT, check=False)
        cases = list(ET.parse(report).iter("testcase")) if report.is_file() else []
    return {"tests": len(cases), "passed": sum(not any(child.tag in NOT_PASSED for child in case) for case in cases)}


def main(words: list[str]) -> int:
    """Run the rows, and write what was found; 1 where a row did not pass."""
    found = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.is_file() else {"rows": {}}
    for place in PLACES:
        if place.tests and (not words or any(word in place.where for word in words)):
            found["rows"][place.where] = run_environment(place)
    found["rows"] = {place.where: found["rows"][place.where] for place in PLACES if place.where in found["rows"]}
    found["versions"] = {name: version(name) for name in PACKAGES}
    FOUND.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(HEAD)
    PAGE.write_text(before + rows(found) + rest[rest.index("\n\n") + 1 :], encoding="utf-8")
    return int("not passed" in rows(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
