"""What a person sees, can do and has in the file when the output of a turn goes or is hidden, in each way and phase.

The rows are in `tests/places/ways.py`; a sample is tried in the normal lane, all of them nightly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.browser.lab import Front, Lab, Notebook
from tests.browser.paced_model import PacedModel, paced_model
from tests.places.ways import CALM_COMMANDS, WAYS, Phase, Way

SETUP = """
@tool
def pay(amount: int) -> str:
    "Pay an amount."
    return f"paid {amount}"

@tool(run="auto")
def wipe(wait: bool) -> int:
    "Clear the output."
    from IPython.display import clear_output
    clear_output(wait=wait)
    return 1
"""
ASK = "%%chat -c paced{flags} -t pay wipe -o answer\nGo."
IN_OUTPUT = (
    "import ipywidgets\nout = ipywidgets.Output()\ndisplay(out)\n"
    "with out:\n    get_ipython().run_cell_magic('chat', '-c paced{flags} -t pay wipe -o answer', 'Go.')"
)
NEXT = "print('the next cell')"
FIRST, LAST = "Once upon a time.", "And so it ended."
NOT_ENDED = "This turn had not ended when the notebook was saved."
COLLAPSED = "show this output to see it and to answer its questions"
WAITS_UNSEEN = "A turn waits for a decision, and its output is no longer there"
PANEL = "window.jupyterapp.shell.currentWidget"
FRONT_NAMES: dict[str, Front] = {"JupyterLab": "lab", "Notebook 7": "notebook"}
LIVE: tuple[Phase, ...] = ("before the first token", "streaming", "question", "parked")
OF_TOOLS = {"clear_output()": False, "clear_output(wait=True)": True}
"""The ways that a tool of the turn itself takes, before the phase, by its argument."""

SAMPLE = {
    ("Clear All Outputs", "streaming"),
    ("Clear Outputs", "parked"),
    ("cell deleted", "question"),
    ("inside ipywidgets.Output", "question"),
}
MANAGER_ERROR = re.compile(r"reading 'addWidget'.*@jupyter-widgets/jupyterlab-manager", re.DOTALL)
"""An error of JupyterLab's widget manager: an output was removed before it had drawn the widget there."""

ELSEWHERE = {
    "page closed": "tests/browser/test_saved_midway.py",
    "kernel restarted": "tests/browser/test_parking.py",
    "page without a kernel": "tests/browser/test_html_manager.py, tests/browser/test_saved_midway.py",
    "second page of the notebook": "tests/browser/test_two_pages.py",
    "page reloaded": "tests/browser/test_reload.py",
    "page saved and reloaded": "tests/browser/test_saved_midway.py",
    "cell never drawn": "tests/magics/cell/test_lost_place.py",
    "output collapsed before it is drawn": "tests/magics/cell/test_lost_place.py",
}
"""Ways that tests of their own take."""


@dataclass
class Scene:
    """A turn in a phase, in a notebook of a few cells."""

    notebook: Notebook
    model: PacedModel
    phase: Phase

    def command(self, name: str, at: int = 1) -> None:
        """Do a command of JupyterLab on a cell."""
        page = self.notebook.page
        page.evaluate(
            f"at => {{ {PANEL}.content.deselectAll(); {PANEL}.content.mode = 'command'; "
            f"{PANEL}.content.activeCellIndex = at; }}",
            at,
        )
        page.evaluate("name => void window.jupyterapp.commands.execute(name)", name)

    def button(self, name: str) -> Locator:
        """Give a button of the turn, in whatever cell it is."""
        return self.notebook.page.locator(".jp-Notebook .jp-Cell-outputWrapper").get_by_role("button", name=name)

    def start(self, way: Way) -> None:
        """Run the cell, and let the turn come to its phase."""
        self.notebook.start_cell(1)
        if way.name in OF_TOOLS:
            self.model.call(("wipe", {"wait": OF_TOOLS[way.name]}))
        if self.phase in ("question", "parked"):
            self.model.call(("pay", {"amount": 21}))
            expect(self.button("Approve").first).to_be_enabled(timeout=30_000)  # an Output widget draws twice
        else:
            if self.phase != "before the first token":
                self.model.say(FIRST)
                expect(self.outputs()).to_contain_text(FIRST, timeout=30_000)
            expect(self.button("Stop")).to_be_visible(timeout=30_000)
        if self.phase == "finished":
            self.model.end()
            self.notebook.wait_ended(1)

    def outputs(self) -> Locator:
        """Give the notebook with all of its outputs."""
        return self.notebook.page.locator(".jp-Notebook:not(.lm-mod-hidden)").first

    def end(self) -> None:
        """Answer the question, and let the turn come to its end."""
        if self.phase in ("question", "parked"):
            self.button("Approve").click()
        self.model.say(LAST)
        self.model.end()

    def saved(self) -> str:
        """Give all outputs of the file."""
        cells = self.notebook.save().cells
        return "\n".join(str(cell.get("outputs", "")) for cell in cells)


def _commands(way: Way) -> Callable[[Scene], None]:
    def do(scene: Scene) -> None:
        for command in way.commands:
            scene.command(command)
        if way.name == "Create New View for Output":
            scene.notebook.page.locator(".jp-LinkedOutputView").wait_for()
            scene.notebook.page.locator(".lm-TabBar-tab", has_text="places.ipynb").first.click()

    return do


def _nothing(_: Scene) -> None:
    """Do nothing: the cell is as it was from the start."""


def _scroll_away(scene: Scene) -> None:
    scene.notebook.page.evaluate(f"() => {PANEL}.content.node.querySelector('.jp-Cell:last-child').scrollIntoView()")


def _run_below(scene: Scene) -> None:
    scene.command("notebook:run-all-below", at=2)


ACTIONS: dict[str, Callable[[Scene], None]] = {
    **{way.name: _commands(way) for way in WAYS if way.commands and way.effect != "kernel ended"},
    **dict.fromkeys(("nothing happens", "inside ipywidgets.Output", *OF_TOOLS), _nothing),
    "cell out of view": _scroll_away,
    "run all, with a cell below": _run_below,
}


def test_every_way_is_done_here_or_elsewhere() -> None:
    assert ACTIONS.keys() | ELSEWHERE.keys() == {way.name for way in WAYS}
    assert ACTIONS.keys().isdisjoint(ELSEWHERE)


def test_every_command_of_the_notebook_is_a_way_or_takes_no_output_away(lab: Lab) -> None:
    notebook = lab.open_cells("1", kernel="python3")
    commands = notebook.page.evaluate("() => window.jupyterapp.commands.listCommands()")

    known = CALM_COMMANDS | {command for way in WAYS for command in way.commands}
    assert {one for one in commands if one.startswith("notebook:")} - known == set()


def rows() -> Iterator[Any]:
    """Yield the ways in the phases and front ends that can be tried here; all but a sample are nightly."""
    phases: tuple[Phase, ...] = (*LIVE, "finished")
    for way in WAYS:
        for phase in phases if way.name in ACTIONS else ():
            for front in sorted(way.fronts & FRONT_NAMES.keys()):
                is_sample = (way.name, phase) in SAMPLE and front == "JupyterLab"
                marks = () if is_sample else (pytest.mark.nightly,)
                yield pytest.param(way, phase, FRONT_NAMES[front], marks=marks, id=f"{way.name}-{phase}-{front}")


@pytest.fixture
def model() -> Iterator[PacedModel]:
    with paced_model() as model:
        yield model


@pytest.mark.journey
@pytest.mark.sampled(1)
@pytest.mark.promise("seen-question")
@pytest.mark.parametrize(("way", "phase", "front"), list(rows()))
def test_a_turn_is_always_somewhere(lab: Lab, model: PacedModel, way: Way, phase: Phase, front: Front) -> None:
    flags = " --approve park" if phase == "parked" else ""
    source = IN_OUTPUT if way.name == "inside ipywidgets.Output" else ASK
    cells = (source.replace("{flags}", flags), NEXT, NEXT)
    notebook = lab.open_cells(model.setup + SETUP, *cells, kernel="python3", name="places.ipynb", front=front)
    notebook.run_cell(0)
    scene = Scene(notebook, model, phase)
    scene.start(way)

    ACTIONS[way.name](scene)

    if phase == "finished":
        check_finished(scene, way)
    elif way.effect == "removed":
        check_removed(scene)
    else:
        check_live(scene, way)
    errors = [error for error in notebook.errors if not MANAGER_ERROR.search(error)]
    assert front == "notebook" or errors == []  # Notebook 7 has some of its own


def check_finished(scene: Scene, way: Way) -> None:
    """Expect the finished turn on the page and in the file, unless the person has removed it."""
    saved = scene.saved()
    if way.effect == "removed" or way.name.startswith("Clear"):
        assert FIRST not in saved
        return
    assert FIRST in saved
    if way.effect == "collapsed":
        scene.command("notebook:show-cell-outputs")
    expect(scene.outputs()).to_contain_text(FIRST)


def check_removed(scene: Scene) -> None:
    """Expect the cell to end, and the next one to say what waits."""
    if scene.phase == "question":
        scene.notebook.wait_status("idle", seconds=30)
        scene.notebook.run_cell(scene.notebook.cell_count() - 1)
        expect(scene.outputs()).to_contain_text(WAITS_UNSEEN)
    elif scene.phase != "parked":
        scene.model.say(LAST)
        scene.model.end()
        scene.notebook.wait_status("idle", seconds=30)
    assert LAST not in scene.saved()


def check_live(scene: Scene, way: Way) -> None:
    """Expect the view, what can be done in it, the text so far in the file, and at the end the turn in both."""
    if way.effect == "collapsed":
        expect(scene.outputs()).to_contain_text(COLLAPSED)
        scene.command("notebook:show-cell-outputs")
    name = "Approve" if scene.phase in ("question", "parked") else "Stop"
    expect(scene.button(name)).not_to_have_count(0, timeout=15_000)
    if way.name != "Create New View for Output":
        expect(scene.button(name)).to_have_count(1)
    if scene.phase != "before the first token":
        check_file(scene)

    scene.end()

    expect(scene.outputs()).to_contain_text(LAST, timeout=30_000)
    scene.notebook.wait_status("idle", seconds=30)
    expect(scene.button("Stop")).to_have_count(0, timeout=15_000)
    saved = saved_with(scene, LAST, without=NOT_ENDED)
    assert TURN_MIME in saved or way.name == "inside ipywidgets.Output"


def check_file(scene: Scene) -> None:
    """Expect the text so far and the question in the file, within some seconds."""
    saved_with(scene, "Approval needed" if scene.phase in ("question", "parked") else FIRST, NOT_ENDED)


def saved_with(scene: Scene, *texts: str, without: str = "") -> str:
    """Save until the file has these texts, and one no longer: the page puts them there within some seconds."""
    for _ in range(30):
        saved = scene.saved()
        if all(text in saved for text in texts) and not (without and without in saved):
            return saved
        scene.notebook.page.wait_for_timeout(300)
    raise AssertionError(saved)
