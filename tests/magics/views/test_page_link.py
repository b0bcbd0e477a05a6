"""When the output of a widget is replaced: in VS Code not while the page has the widget and is about to draw it."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.blocking import BlockingKernelClient

from nbtool.clock import monotonic
from nbtool.magics.views.page_link import PageLink, RenderingSeconds
from nbtool.threads.loop import background_loop, run_sync
from nbtool.turn_place import TurnPlace
from tests.compat.page import SECONDS, WIDGET_MIME, Page, open_page

IN_EDITOR = "vscode-notebook-cell:/home/ada/first.ipynb#W0sZmlsZQ%3D%3D"
IN_LAB = "9e1f4a52-6a0b-4c7f-8a3e-1f2d3c4b5a69"
HELLO = "%%chat -m practice:fast\nHello."
DOUBLE = """
%load_ext nbtool
from nbtool import Chat, tool
@tool
def double(n: int) -> int:
    "Twice a number."
    return 2 * n
"""
QUIET_SECONDS = 0.4
"""Less than VS Code has to draw what it has, and more than an output takes that is sent at once."""


def type_of(message: dict[str, Any]) -> str:
    """Return the type of a message; an update that still shows the widget, for the file, replaces nothing."""
    kind = str(message["msg_type"])
    is_same = kind == "update_display_data" and WIDGET_MIME in message["content"]["data"]
    return "update_of_the_file" if is_same else kind


class PatientClient:
    """A client that can look at what comes, before it is handled."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client, self._seen = client, deque[dict[str, Any]]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def get_iopub_msg(self, timeout: float) -> dict[str, Any]:
        if self._seen:
            return self._seen.popleft()
        message: dict[str, Any] = self._client.get_iopub_msg(timeout=timeout)
        return message

    def look(self, until: str = "") -> list[str]:
        """Return the types of all that comes until a type, or until nothing comes for a while."""
        found: list[dict[str, Any]] = []
        with suppress(queue.Empty):
            while not (until and found and type_of(found[-1]) == until):
                found.append(self.get_iopub_msg(timeout=SECONDS if until else QUIET_SECONDS))
        self._seen.extend(found)
        return [type_of(message) for message in found]


class EditorPage(Page):
    """A page that has a widget at once, and draws it only once it has looked at what comes from the kernel."""

    client: Any
    until = ""
    before: Sequence[str] = ()

    def _take(self, message: dict[str, Any], click: str) -> Any:
        content = message["content"]
        if message["msg_type"] != "comm_open" or "nonce" not in content["data"].get("state", {}) or self.before:
            return super()._take(message, click)
        self.comm_id, self.state = content["comm_id"], {"turn_id": "", **content["data"]["state"]}
        self.say("present")
        self.before = self.client.look(self.until)
        self.say("hello")
        return content

    def wait_shown(self, mime: str) -> None:
        """Wait until the newest output has this form: that of a map may come after its cell."""
        while mime not in list(self.shown.values())[-1]:
            self._take(self.client.get_iopub_msg(timeout=SECONDS), "")

    def _send_by_comm(self, body: dict[str, Any]) -> None:
        if not self.state["turn_id"]:  # a map's page names no turn
            del body["data"]["content"]["turn"]
        super()._send_by_comm(body)


def slow_page(page: Page) -> EditorPage:
    client: Any = PatientClient(page.client)
    return EditorPage(client)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("cell", "replaced"),
    [
        pytest.param(HELLO, "text/html", id="ended"),
        pytest.param("%%chat -m practice:fast --approve park\nUse &`double` with 21.", WIDGET_MIME, id="parked"),
        pytest.param('Chat(model="practice:fast").map("Say {item}.", ["one", "two"])', "text/html", id="map"),
    ],
)
def test_what_vs_code_has_and_has_not_rendered_is_not_replaced(cell: str, replaced: str) -> None:
    with open_page() as page:
        page.run(DOUBLE)
        page.run(HELLO)  # the first turn of a kernel takes longer
        slow = slow_page(page)
        slow.run(cell, cell_id=IN_EDITOR)

        assert "display_data" in slow.before
        assert "update_display_data" not in slow.before
        slow.wait_shown(replaced)


@pytest.mark.sampled(0)
def test_other_front_ends_get_the_end_of_a_turn_at_once() -> None:
    with open_page() as page:
        page.run(DOUBLE)
        slow = slow_page(page)
        slow.until = "update_display_data"
        slow.run(HELLO, cell_id=IN_LAB)

        assert "update_display_data" in slow.before


@pytest.mark.parametrize(
    ("reports", "at_least"), [((), 0.2), (("present",), 0.1), (("present", "hello"), 0.0), (("present", "gone"), 0.0)]
)
def test_a_page_that_draws_nothing_is_waited_for_so_long(reports: tuple[Any, ...], at_least: float) -> None:
    seconds = RenderingSeconds(loading=0.2, rendering=0.1)
    widget: Any = SimpleNamespace(cell=IN_EDITOR, created_at=monotonic(), turn_place=TurnPlace())
    for report in reports:
        widget.turn_place.report("page", report)
    called: list[float] = []

    PageLink(object()).when_rendered(widget, lambda: called.append(monotonic()), seconds)

    assert called[0] - widget.created_at >= at_least


def test_a_widget_that_is_older_than_that_is_not_waited_for() -> None:
    widget: Any = SimpleNamespace(cell=IN_EDITOR, created_at=monotonic() - 60, turn_place=TurnPlace())
    called: list[str] = []

    PageLink(object()).when_rendered(widget, lambda: called.append("replaced"))

    assert called == ["replaced"]


def test_nbtools_own_loop_is_not_blocked_by_the_wait() -> None:
    widget: Any = SimpleNamespace(cell=IN_EDITOR, created_at=monotonic(), turn_place=TurnPlace())
    replaced = queue.SimpleQueue[bool]()

    async def end() -> None:
        PageLink(object()).when_rendered(widget, lambda: replaced.put(background_loop().is_current()))
        assert replaced.empty()

    run_sync(end())
    widget.turn_place.report("page", "hello")

    assert replaced.get(timeout=240)
