"""A click reaches a running cell on every kernel of the 7.x line, whatever road the page sends it by."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nbtool.magics.views.page_link import MAX_CLOSING
from tests.compat.page import open_page

ROOT = Path(__file__).parents[2]
OLDER = ("7.0.1", "7.1.0", "7.2.0", "7.3.0")
SETUP = """
%load_ext nbtool
from nbtool import tool
received = []
@tool
def double(n: int) -> int:
    "Twice a number."
    received.append(n)
    return 2 * n
"""
USE = "%%chat -m practice:fast -o answer\nUse &`double` with 21."
TIMES = 20
"""How often each thing is done with a kernel."""

CELLS = 1_500
"""How many cells follow one another at once: of a kernel that is not mended one of two hundred never begins."""

STATUS = "print(received, answer.status, answer.calls[0].status)"
HOW_REPLIES = """
kernel = get_ipython().kernel
print(kernel.shell_channel_thread.manager._shell_socket is kernel.shell_stream.socket)
"""
WAITING = """
from ipywidgets.widgets.widget import _instances
print(sum(type(widget).__name__ == "TurnWidget" for widget in _instances.values()))
"""
EXPECTED = (
    "import ipykernel; print(ipykernel.__version__, received, answer.calls[0].status, answer.calls[0].decisions[0].by)"
)


Tell = Callable[[str, object], None]


def older(version: str) -> Path:
    """Give where an older ipykernel was installed."""
    overlay = ROOT / "build" / "kernels" / version
    if not overlay.is_dir():
        pytest.fail(f"There is no ipykernel {version}: `make lane LANE=compat` installs it.", pytrace=False)
    return overlay


@pytest.mark.sampled(1)
@pytest.mark.parametrize("over_subshell", [False, True], ids=["shell", "subshell"])
def test_a_click_is_handled_while_the_cell_runs(over_subshell: bool) -> None:
    with open_page(over_subshell=over_subshell) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.during == 1
        assert page.run(EXPECTED).endswith(" [21] ok button\n")


@pytest.mark.sampled(0)
def test_a_page_that_is_loaded_while_the_cell_runs_receives_the_widget() -> None:
    with open_page(loads_anew=True) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.methods == ["update_states", "update"]
        assert page.during == 1


@pytest.mark.nightly
def test_the_widgets_that_wait_for_a_page_which_went_away_are_bounded() -> None:
    comms: list[str] = []
    with open_page(goes_away=True) as page:
        page.run(SETUP)
        for number in range(MAX_CLOSING + 3):
            page.run(USE, click="approve", cell_id=f"cell-{number}")
            comms.append(page.comm_id)

        assert page.run(WAITING) == f"{MAX_CLOSING}\n"
        assert [comm_id for comm_id in comms if comm_id in page.closed] == comms[:3]


@pytest.mark.nightly
@pytest.mark.parametrize("version", OLDER)
def test_a_page_that_is_loaded_while_a_cell_of_an_older_kernel_runs_receives_the_widget(
    version: str, record_property: Tell
) -> None:
    record_property("injected", TIMES)
    with open_page(overlay=older(version), loads_anew=True) as page:
        page.run(SETUP)
        for _ in range(TIMES):
            page.methods.clear()
            page.run("received.clear()")
            page.run(USE, click="approve")

            assert page.methods == ["update_states", "update"]
            assert page.run(EXPECTED) == f"{version} [21] ok button\n"


@pytest.mark.nightly
@pytest.mark.parametrize("over_subshell", [False, True], ids=["shell", "subshell"])
@pytest.mark.parametrize("version", OLDER)
def test_a_click_is_handled_on_an_older_kernel(version: str, over_subshell: bool, record_property: Tell) -> None:
    record_property("injected", TIMES)
    with open_page(overlay=older(version), over_subshell=over_subshell) as page:
        page.run(SETUP)
        for _ in range(TIMES):
            page.run("received.clear()")
            page.run(USE, click="approve")

            assert page.during == 1
            assert page.run(EXPECTED) == f"{version} [21] ok button\n"


@pytest.mark.nightly
@pytest.mark.parametrize(("click", "became"), [("deny", "completed denied"), ("interrupt", "cancelled cancelled")])
@pytest.mark.parametrize("version", OLDER)
def test_nothing_runs_on_an_older_kernel_after_a_no(
    version: str, click: str, became: str, record_property: Tell
) -> None:
    record_property("injected", TIMES)
    with open_page(overlay=older(version)) as page:
        page.run(SETUP)
        for _ in range(TIMES):
            page.run(USE, click=click)

            assert page.run(STATUS) == f"[] {became}\n"


@pytest.mark.nightly
@pytest.mark.parametrize("version", OLDER)
def test_every_cell_of_an_older_kernel_begins_once_the_extension_is_loaded(version: str, record_property: Tell) -> None:
    record_property("injected", CELLS)
    with open_page(overlay=older(version)) as page:
        page.run("%load_ext nbtool")

        assert [page.run(f"print({number})") for number in range(CELLS)] == [f"{number}\n" for number in range(CELLS)]
        assert page.run(HOW_REPLIES) == "False\n"
        page.run("%unload_ext nbtool")
        page.settle()
        assert page.run(HOW_REPLIES) == "True\n"
