"""Situations of public reports: outputs of a notebook that is saved, exported, captured or copied in mid-turn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import nbformat
import pytest
from ipywidgets import Widget  # type: ignore[import-untyped]  # it ships no types
from jupyter_client.manager import KernelManager
from nbconvert import HTMLExporter

from nbtool.blocks.render.mimebundle import TURN_MIME
from nbtool.events import CallAsked, CallDelta, Event, RequestStarted, TextDelta, TurnStarted
from nbtool.messages import user
from nbtool.threads.loop import run_sync
from nbtool.view.map_widget import MapWidget
from nbtool.view.turn_widget import TurnWidget
from tests.browser.paced_model import PacedModel, paced_model
from tests.kernels import start_kernel
from tests.view.test_map_widget import DATA

SECONDS = 30
STREAM = "%%chat -c paced -o answer\nTell me a story."
IN_OUTPUT = (
    "import ipywidgets\nout = ipywidgets.Output()\ndisplay(out)\n"
    "with out:\n    get_ipython().run_cell_magic('chat', '-c paced', 'Tell me a story.')"
)
HISTORY = "%chat history"
WIDGET = "application/vnd.jupyter.widget-view+json"


class FrontEnd:
    """A front end without nbtool's page: it keeps the outputs of its cells as a notebook does, and can be saved."""

    def __init__(self, manager: KernelManager) -> None:
        self._client = manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=SECONDS)
        self.outputs: dict[str, list[dict[str, Any]]] = {}
        self.displayed: list[dict[str, Any]] = []
        self._requests: dict[str, str] = {}

    def start(self, cell: str, source: str, *, session: str = "") -> None:
        """Run a cell, and return at once; another session is that of another page."""
        if session:
            self._client.session.session = session
        content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        message = self._client.session.msg("execute_request", content)
        message["metadata"] = {"cellId": cell}
        self._requests[message["header"]["msg_id"]] = cell
        self.outputs[cell] = []
        self._client.shell_channel.send(message)

    def run(self, cell: str, source: str, *, session: str = "") -> str:
        """Run a cell to its end, and return its outputs as text."""
        self.start(cell, source, session=session)
        self.listen(lambda kind, content: kind == "status" and content["execution_state"] == "idle", cell)
        return str(self.outputs[cell])

    def listen(self, is_over: Callable[[str, dict[str, Any]], object], cell: str) -> None:
        """Take what the kernel sends until a message to a cell ends it."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            message = self._client.get_iopub_msg(timeout=SECONDS)
            target = self._requests.get(message["parent_header"].get("msg_id", ""), "")
            self._take(message["msg_type"], message["content"], target)
            if target == cell and is_over(message["msg_type"], message["content"]):
                return
        raise AssertionError(self.outputs)

    def wait_saved(self, cell: str, text: str) -> dict[str, Any]:
        """Wait until the notebook, saved then, has a text in a cell, and return that output."""
        self.listen(lambda *_: any(text in str(one) for one in self.outputs[cell]), cell)
        return next(one for one in self.outputs[cell] if text in str(one))

    def _take(self, kind: str, content: dict[str, Any], cell: str) -> None:
        display_id = content.get("transient", {}).get("display_id")
        if kind == "stream" and cell:
            self.outputs[cell].append({"text": content["text"]})
        elif kind == "display_data" and cell:
            self.outputs[cell].append({"data": content["data"], "id": display_id})
            self.displayed.append(content["data"])  # what an Output widget takes, whatever is updated later
        elif kind == "update_display_data":
            for output in (one for outputs in self.outputs.values() for one in outputs):
                if output.get("id") == display_id:
                    output["data"] = content["data"]

    def close(self) -> None:
        """End the connection."""
        self._client.stop_channels()


@pytest.fixture
def model() -> Iterator[PacedModel]:
    with paced_model() as model:
        yield model


@pytest.fixture
def front_end(model: PacedModel) -> Iterator[FrontEnd]:
    manager = start_kernel()
    front_end = FrontEnd(manager)
    front_end.run("setup", model.setup)
    yield front_end
    front_end.close()
    manager.shutdown_kernel(now=True)


def exported(output: dict[str, Any]) -> str:
    """Export a notebook of one output as HTML, as `jupyter nbconvert` does."""
    saved = nbformat.v4.new_output("display_data", data=output["data"])
    cell = nbformat.v4.new_code_cell(STREAM, outputs=[saved])
    return str(HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))[0])


@pytest.mark.sampled(0)
def test_a_notebook_that_is_closed_while_its_cell_runs_has_what_came(front_end: FrontEnd, model: PacedModel) -> None:
    """microsoft/vscode-jupyter#890, jupyterlab/jupyterlab#4237: a cell runs long, the notebook is saved and closed.
    Right: what came. Before: wrong."""
    front_end.start("c1", STREAM)
    model.say("Once upon a time.")

    saved = front_end.wait_saved("c1", "Once upon a time.")

    assert "Once upon a time." in saved["data"]["text/plain"]
    assert "%chat open turn_" in saved["data"]["text/plain"]
    assert WIDGET in saved["data"]  # the view of a page that has it is left as it is


@pytest.mark.sampled(0)
def test_a_notebook_that_was_saved_in_mid_turn_is_exported_with_the_text(
    front_end: FrontEnd, model: PacedModel
) -> None:
    """jupyter/nbconvert#1643, jupyter/nbconvert#923: a widget without saved state is exported. Right: its static form.
    Before: wrong."""
    front_end.start("c1", STREAM)
    model.say("Once upon a time.")

    assert "Once upon a time." in exported(front_end.wait_saved("c1", "Once upon a time."))


@pytest.mark.sampled(0)
def test_a_turn_in_an_output_widget_is_there_when_it_has_ended(front_end: FrontEnd, model: PacedModel) -> None:
    """jupyter-widgets/ipywidgets#1844, jupyter-widgets/ipywidgets#1180: an Output widget takes no update of a display.
    Right: the end is there. Before: wrong."""
    model.say("Once upon a time.")
    model.end()
    front_end.run("c1", IN_OUTPUT)

    assert any(TURN_MIME in data and WIDGET not in data for data in front_end.displayed)


def test_cells_that_were_copied_to_another_notebook_on_the_kernel_are_others(
    front_end: FrontEnd, model: PacedModel
) -> None:
    """jupyter/notebook#2863, polynote/polynote#16: two cells have one id. Right: two turns of one chat. Before:
    wrong."""
    for session, question in (("one", "Question A"), ("other", "Question B")):
        model.say("Yes.")
        model.end()
        front_end.run("c1", f"%%chat -c paced\n{question}", session=session)

    history = front_end.run("c2", "%chat -c paced history")
    assert "Question A" in history
    assert "Question B" in history
    assert "version" not in history


def test_a_cell_that_is_run_again_by_the_same_page_makes_a_version(front_end: FrontEnd, model: PacedModel) -> None:
    """microsoft/AzureNotebooks#557: a cell is run again. Right: it is the same cell, with a new version. Before:
    right."""
    for _ in range(2):
        model.say("Yes.")
        model.end()
        front_end.run("c1", "%%chat -c paced\nQuestion A")

    assert "version 2 of 2" in front_end.run("c2", "%chat -c paced history")


def running_widget(events: list[Event], updates: list[dict[str, Any]]) -> TurnWidget:
    """Give the widget of a turn in a page; `updates` are those of its display."""
    widget = TurnWidget("turn_1", decide=lambda *_: None, stop=lambda: None, post=lambda call: call())
    widget.update_output = updates.append

    async def feed() -> None:
        for event in events:
            widget.feed(event)
            await asyncio.sleep(0)

    run_sync(feed())
    return widget


STREAMED: list[Event] = [TurnStarted("turn_1", "m", user("Hi"), 1.0), RequestStarted(1), TextDelta("Once upon a time.")]


def test_a_turn_in_a_page_without_a_kernel_shows_what_there_was() -> None:
    """jupyter-widgets/widget-ts-cookiecutter#29, jupyter/nbconvert#920: a running widget is embedded in a page. Right:
    its text. Before: wrong."""
    widget = running_widget(STREAMED, [])

    state = Widget.get_manager_state(widgets=[widget])["state"][widget.model_id]["state"]

    assert "Once upon a time." in str(state["snapshot"])
    assert state["snapshot"]["head"]["status"] != "running"


def test_no_display_is_updated_while_somebody_may_type_an_answer() -> None:
    """koaning/molabel#5, jupyterlab/jupyterlab#4320: an update draws a widget again, and the focus jumps. Right: none
    meanwhile. Before: right."""
    updates: list[dict[str, Any]] = []
    asked: list[Event] = [CallDelta("0", name="pay", call_id="c1"), CallAsked("c1", "run", "d1", "pay", "{}")]
    later: list[Event] = [TextDelta("More.") for _ in range(200)]

    running_widget([*STREAMED, *asked, *later], updates)

    assert len(updates) <= 1  # the one with the question
    assert all("Approval needed" in one["text/plain"] for one in updates)


def test_a_map_in_a_saved_notebook_says_how_far_it_was() -> None:
    """bstriner/keras-tqdm#12: progress bars are gone when the notebook is opened again. Right: how far it was, as text.
    Before: wrong."""
    updates: list[dict[str, Any]] = []
    widget = MapWidget(DATA, stop=lambda: None, post=lambda call: call())
    is_saved = asyncio.Event()
    widget.update_output = lambda form: (updates.append(form), is_saved.set())

    async def run() -> None:
        widget.show({**DATA, "done": 3, "label": "3 of 10 prompts"})
        await is_saved.wait()

    run_sync(run())

    assert "3 of 10 prompts" in updates[0]["text/plain"]
    assert "Call the same map again to go on." in updates[0]["text/plain"]
