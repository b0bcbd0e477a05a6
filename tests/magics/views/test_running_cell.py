from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.display import DisplayHandle

from nbtool.magics.views.running_cell import RunningCell


@pytest.fixture
def running(shell: Any) -> Iterator[RunningCell]:
    cell = RunningCell(shell)
    cell.watch()
    shell.user_ns["running"] = cell
    yield cell
    cell.stop_watching()


def test_a_thread_displays_in_the_cell_that_runs_and_nowhere_between_cells(
    shell: Any, running: RunningCell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert running.display({"text/plain": "between"}, {}) is None

    result = shell.run_cell(
        "from threading import Thread\n"
        "handles = []\n"
        "thread = Thread(target=lambda: handles.append(running.display({'text/plain': 'inside'}, {})))\n"
        "thread.start(); thread.join()"
    )

    assert result.success
    assert shell.user_ns["handles"][0] is not None
    assert capsys.readouterr().out.strip() == "inside"
    assert running.display({"text/plain": "after"}, {}) is None


@pytest.mark.usefixtures("running")
def test_a_cell_that_runs_another_one_is_running_again_after_it(shell: Any) -> None:
    shell.run_cell("get_ipython().run_cell('1')\nhandle = running.display({'text/plain': 'outer'}, {})")

    assert shell.user_ns["handle"] is not None


@pytest.mark.usefixtures("running")
def test_a_closed_cell_shows_nothing_of_before_and_after_and_the_next_cell_shows_again(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(
        DisplayHandle, "update", lambda self, data, **_: shown.append((self.display_id, data["text/plain"]))
    )

    shell.run_cell(
        "before = running.display({'text/plain': 'before'}, {})\n"
        "running.close()\n"
        "after = running.display({'text/plain': 'after'}, {})"
    )
    shell.user_ns["before"].update({"text/plain": "ended"}, raw=True)
    shell.run_cell("following = running.display({'text/plain': 'following'}, {})")

    assert [text for _, text in shown] == [""]
    assert shell.user_ns["after"] is None
    assert shell.user_ns["following"] is not None


def test_nothing_is_displayed_once_it_stops_to_watch(shell: Any, running: RunningCell) -> None:
    running.stop_watching()
    running.stop_watching()
    shell.run_cell("handle = running.display({'text/plain': 'inside'}, {})")

    assert shell.user_ns["handle"] is None
