"""A click reaches a running cell on every kernel of the 7.x line, whatever road the page sends it by."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places.page import open_page

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
TOLD = (
    "import ipykernel; print(ipykernel.__version__, received, answer.calls[0].status, answer.calls[0].decisions[0].by)"
)


def older(version: str) -> Path:
    """Give where an older ipykernel was installed."""
    overlay = ROOT / "build" / "kernels" / version
    if not overlay.is_dir():
        pytest.fail(f"There is no ipykernel {version}: `make places` installs it.", pytrace=False)
    return overlay


@pytest.mark.parametrize("over_subshell", [False, True], ids=["shell", "subshell"])
def test_a_click_is_heard_while_the_cell_runs(over_subshell: bool) -> None:
    with open_page(over_subshell=over_subshell) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.during == 1
        assert page.run(TOLD).endswith(" [21] ok button\n")


def test_a_page_that_is_loaded_while_the_cell_runs_is_told_of_the_widget() -> None:
    with open_page(loads_anew=True) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.told == ["update_states", "update"]
        assert page.during == 1


@pytest.mark.nightly
@pytest.mark.parametrize("version", OLDER)
def test_a_page_that_is_loaded_while_a_cell_of_an_older_kernel_runs_is_told_of_the_widget(version: str) -> None:
    with open_page(overlay=older(version), loads_anew=True) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.told == ["update_states", "update"]
        assert page.run(TOLD) == f"{version} [21] ok button\n"


@pytest.mark.nightly
@pytest.mark.parametrize("over_subshell", [False, True], ids=["shell", "subshell"])
@pytest.mark.parametrize("version", OLDER)
def test_a_click_is_heard_on_an_older_kernel(version: str, over_subshell: bool) -> None:
    with open_page(overlay=older(version), over_subshell=over_subshell) as page:
        page.run(SETUP)
        page.run(USE, click="approve")

        assert page.during == 1
        assert page.run(TOLD) == f"{version} [21] ok button\n"
