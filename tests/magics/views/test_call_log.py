from __future__ import annotations

from typing import Any

import pytest

from nbtool.magics.notebook.inserted_cell import CellSource
from nbtool.magics.views import call_log
from nbtool.magics.views.call_log import DROPPED_AT_ONCE, MAX_SHOWN, CallLog, CallPlace

AGENT = CellSource("mcp:agent")


class Page:
    """The outputs of a cell as a front end keeps them, for the handles that a kernel displays."""

    def __init__(self) -> None:
        self.outputs: list[str] = []

    def display(self) -> Handle:
        self.outputs.append("")
        return Handle(self, len(self.outputs) - 1)

    def shown(self) -> list[str]:
        return [text for text in self.outputs if text]


class Handle:
    def __init__(self, page: Page, index: int) -> None:
        self._page, self._index = page, index

    def update(self, data: dict[str, Any], *, raw: bool, metadata: object = None) -> None:
        assert raw
        assert metadata is None
        self._page.outputs[self._index] = data["text/plain"]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    page = Page()
    monkeypatch.setattr(call_log, "empty_place", page.display)
    return page


def show(log: CallLog, name: str, cells: CellSource = AGENT, *, has_ended: bool = True) -> CallPlace:
    place = log.add(cells)
    place.update({"text/plain": name}, raw=True)
    place.has_ended = has_ended
    return place


def test_calls_are_shown_in_order_of_time_and_a_line_says_how_many_are_not(page: Page) -> None:
    log = CallLog()
    log.open()
    names = [f"call {number}" for number in range(MAX_SHOWN + 1)]

    for name in names[:-1]:
        show(log, name)
    assert page.shown() == names[:-1]
    show(log, names[-1])

    note, *shown = page.shown()
    assert shown == names[DROPPED_AT_ONCE:]
    assert note == f"{DROPPED_AT_ONCE} earlier calls are not shown here: `%chat -c mcp:agent history`"


def test_a_call_that_has_not_ended_is_shown_until_it_has_and_moves_with_the_others(page: Page) -> None:
    log = CallLog()
    log.open()
    waiting = show(log, "a question", has_ended=False)

    for number in range(3 * MAX_SHOWN):
        show(log, f"call {number}")
    waiting.update({"text/plain": "an answer"}, raw=True)

    note, first, *others = page.shown()
    assert first == "an answer"
    assert others == [f"call {number}" for number in range(3 * MAX_SHOWN)][-len(others) :]
    assert note.startswith(f"{3 * MAX_SHOWN - len(others)} earlier calls")


def test_the_line_names_the_commands_of_each_client(page: Page) -> None:
    log = CallLog()
    log.open()
    show(log, "first", CellSource("mcp:two words"))

    for number in range(MAX_SHOWN):
        show(log, f"call {number}")

    assert page.shown()[0].endswith("`%chat -c 'mcp:two words' history` (1), `%chat -c mcp:agent history` (3)")


def test_what_is_not_shown_any_more_changes_nothing(page: Page) -> None:
    log = CallLog()
    log.open()
    first = show(log, "first")

    for number in range(MAX_SHOWN):
        show(log, f"call {number}")
    first.update({"text/plain": "late"}, raw=True)

    assert "late" not in page.shown()


def test_more_calls_than_places_that_all_wait_get_a_further_place(page: Page) -> None:
    log = CallLog()
    log.open()
    names = [f"question {number}" for number in range(MAX_SHOWN + 2)]

    for name in names:
        show(log, name, has_ended=False)

    assert page.shown() == names
