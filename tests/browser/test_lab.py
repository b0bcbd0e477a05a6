"""The ground that the view's own tests stand on: a real page, both kernels, a click, an interrupt, a saved file."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import Lab, screenshot

VERSION = "import ipykernel; print('ipykernel', ipykernel.__version__)"
BUTTON = '''
import anywidget, traitlets

class Button(anywidget.AnyWidget):
    """A button that counts its clicks in the kernel."""

    _esm = """
    export default { render({ model, el }) {
        const button = document.createElement("button");
        const show = () => { button.textContent = `heard ${model.get("clicks")}`; };
        button.className = "probe";
        button.onclick = () => model.send({ kind: "click" });
        model.on("change:clicks", show);
        show();
        el.append(button);
    } };
    """
    clicks = traitlets.Int(0).tag(sync=True)

    def __init__(self):
        super().__init__()
        self.on_msg(self.hear)

    def hear(self, _, content, buffers):
        self.clicks += content["kind"] == "click"

button = Button()
button
'''
CALL_OUT = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80))
except ConnectionRefusedError as error:
    print(error)
"""
SLEEP = "import time\nprint('asleep')\ntime.sleep(60)"


def test_a_cell_runs_on_the_kernel_that_the_notebook_names(lab: Lab, kernel: str) -> None:
    notebook = lab.open_cells(VERSION, kernel=kernel)

    output = notebook.run_cell(0)

    expect(output).to_contain_text("ipykernel 6." if kernel == "ipykernel6" else "ipykernel 7.")
    assert notebook.status() == "idle"
    assert notebook.errors == []


def test_a_click_on_a_widget_reaches_the_kernel(lab: Lab, kernel: str) -> None:
    notebook = lab.open_cells(BUTTON, "print(button.clicks, 'clicks')", kernel=kernel)
    button = notebook.run_cell(0).locator("button.probe")

    button.click()
    expect(button).to_have_text("heard 1")
    button.click()
    expect(button).to_have_text("heard 2")

    notebook.run_cell(1)
    notebook.wait_output(1, "2 clicks")


@pytest.mark.nightly
def test_the_interrupt_button_ends_a_sleeping_cell(lab: Lab, kernel: str) -> None:
    notebook = lab.open_cells(SLEEP, "print('awake')", kernel=kernel)
    notebook.start_cell(0)
    notebook.wait_output(0, "asleep")

    assert notebook.is_running(0)
    notebook.interrupt()
    notebook.wait_ended(0, seconds=10)

    notebook.wait_output(0, "KeyboardInterrupt")
    notebook.run_cell(1)
    notebook.wait_output(1, "awake")


@pytest.mark.nightly
def test_a_restarted_kernel_has_forgotten_everything(lab: Lab, kernel: str) -> None:
    notebook = lab.open_cells("x = 1", "print('x' in globals())", kernel=kernel)
    notebook.start_all()
    notebook.wait_all()
    notebook.wait_output(1, "True")

    notebook.restart()

    notebook.run_cell(1)
    notebook.wait_output(1, "False")


@pytest.mark.nightly
def test_a_saved_notebook_shows_its_outputs_when_it_is_opened_again(lab: Lab, kernel: str) -> None:
    notebook = lab.open_cells("print(6 * 7)", kernel=kernel)
    notebook.run_cell(0)
    saved = notebook.save()
    notebook.close()
    lab.server.shut_down_kernels()

    again = lab.open_notebook(notebook.name)

    assert saved.cells[0].outputs[0].text == "42\n"
    again.wait_output(0, "42")
    assert again.is_running(0) is False


@pytest.mark.journey
def test_the_page_and_its_kernel_have_no_network_but_loopback(lab: Lab) -> None:
    notebook = lab.open_cells(CALL_OUT, kernel="python3")

    notebook.run_cell(0)

    notebook.wait_output(0, "no network but loopback")


@pytest.mark.nightly
@pytest.mark.parametrize("value", ["perCommTarget", "disabled"])
def test_the_path_of_a_widgets_messages_can_be_chosen(lab: Lab, value: str) -> None:
    lab.set_comms_over_subshells(value)
    notebook = lab.open_cells(BUTTON, kernel="python3")
    button = notebook.run_cell(0).locator("button.probe")

    button.click()

    expect(button).to_have_text("heard 1")
    subshells = notebook.page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.commsOverSubshells"
    )
    assert subshells == value


def test_notebook_7_opens_the_same_notebooks(lab: Lab) -> None:
    notebook = lab.open_cells(BUTTON, kernel="python3", front="notebook")
    button = notebook.run_cell(0).locator("button.probe")

    button.click()

    expect(button).to_have_text("heard 1")


@pytest.mark.shots
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_can_be_seen_in_both_themes(lab: Lab, theme: str) -> None:
    lab.set_theme(theme)
    notebook = lab.open_cells(BUTTON, kernel="python3")
    notebook.run_cell(0)

    is_light = notebook.page.locator("body").get_attribute("data-jp-theme-light")
    screenshot(notebook.page, f"lab-{theme}")

    assert is_light == ("true" if theme == "light" else "false")
