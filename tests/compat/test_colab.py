"""What a person does in Colab, on exactly its versions of IPython, ipykernel and ipywidgets; its own page is not run.

The page is a double, over a real kernel: one that shows widgets and delivers clicks, and one that does neither.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtool.blocks.render.mimebundle import TURN_MIME
from tests.compat.page import SECONDS, WIDGET_MIME, Page, open_page, park_and_approve
from tests.compat.test_control_channel import BLOCK, BLOCKING, ENDED, STOP_SECONDS
from tests.compat.test_kernels import SETUP, USE

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "places" / "colab" / "bin" / "python"
PINS = (Path(__file__).with_name("requirements-colab.txt")).read_text(encoding="utf-8")
VERSIONS = """
import IPython, ipykernel, ipywidgets
print(f"ipython=={IPython.__version__} ipykernel=={ipykernel.__version__} ipywidgets=={ipywidgets.__version__}")
"""
DECIDED = "print(received, answer.status, answer.calls[0].decisions[0].by)"


def colab(**how: Any) -> Any:
    """Open a page of a kernel with Colab's versions, and this folder's nbtool."""
    if not PYTHON.exists():
        pytest.fail(f"There is no {PYTHON}: `make lane LANE=compat` installs it.", pytrace=False)
    return open_page(python=str(PYTHON), overlay=ROOT, **how)


@pytest.fixture
def page() -> Iterator[Page]:
    with colab() as page:
        page.run(SETUP)
        yield page


def test_the_kernel_has_the_versions_of_colab(page: Page) -> None:
    pins = [line for line in PINS.splitlines() if not line.startswith("#")]

    assert page.run(VERSIONS).split() == pins


def test_the_extension_loads_in_one_line() -> None:
    with colab() as page:
        printed = page.run("%load_ext nbtool")

    assert printed.startswith("nbtool: practice:")
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%chat --app", ["--set append_turns=true", "--approve"]),
        ("%%chat -t dou", ["double"]),
        ("%%chat -q\nPlease use &`dou", ["double`"]),
        ("%chat appro", ["approvals", "approve"]),
        ("%%chat -q\nNothing is offered after a word li", []),
        ("received.app", ["append"]),
    ],
)
def test_tab_offers_what_can_be_written_there(page: Page, text: str, expected: list[str]) -> None:
    found = page.complete(text)

    assert [word.rpartition(".")[2] for word in found] == expected


@pytest.mark.parametrize("way", ["comm", "control"])
def test_a_click_while_the_cell_runs_decides(page: Page, way: Any) -> None:
    page.ways = (way,)
    page.run(USE, click="approve")

    assert page.during == 1
    assert page.run(DECIDED) == "[21] completed button\n"


def test_a_finished_turn_takes_the_place_of_its_widget(page: Page) -> None:
    page.run(USE, click="approve")
    shown = list(page.shown.values())

    assert [TURN_MIME in bundle for bundle in shown] == [True]
    assert WIDGET_MIME not in shown[0]
    assert "42" in shown[0]["text/plain"]
    assert "42" in shown[0]["text/html"]


def test_a_stop_arrives_while_a_synchronous_tool_runs() -> None:
    with colab(ways=("control",), stop_at="occupied") as page:
        page.run("%load_ext nbtool")
        page.run(BLOCKING)
        page.run(BLOCK)

        assert 0 < page.stopped_in < STOP_SECONDS
        assert page.run(ENDED) == "cancelled cancelled\n"


def test_a_parked_cell_ends_and_a_later_click_sets_it_going() -> None:
    with colab(holds_back=True) as page:
        page.run(SETUP)

        assert park_and_approve(page) == "parked []\n"
        assert page.run(DECIDED) == "[21] completed button\n"


@pytest.mark.parametrize(("line", "became"), [("y", "[21] completed input"), ("not now", "[] completed input")])
def test_a_page_without_widgets_asks_for_a_line_of_input(line: str, became: str) -> None:
    with colab(shows_widgets=False) as page:
        page.run(SETUP)
        answering = threading.Thread(
            target=lambda: (page.client.get_stdin_msg(timeout=SECONDS), page.client.input(line))
        )
        answering.start()
        page.run(USE)
        answering.join()

        assert page.run(DECIDED) == f"{became}\n"


def test_the_doctor_says_what_works(page: Page) -> None:
    said = page.run("%chat status --check")

    assert "IPython 7.34.0, ipykernel 6.17.1, ipywidgets 7.7.1" in said
    assert "yes  line of input" in said
    assert "yes  parking" in said
