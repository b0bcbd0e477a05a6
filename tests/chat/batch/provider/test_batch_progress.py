"""What a view is told of a map while its batch is at the provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from nbtool import Chat
from nbtool.chat.batch.status_line import status_line
from nbtool.map_progress import MapProgress, set_progress_view
from tests.contract.simulator import Provider, simulate


@pytest.fixture
def model() -> Iterator[Provider]:
    with simulate() as provider:
        provider.always("yes")
        yield provider


class View:
    """Notes what it is told, and lets the batch end once it was told of its state."""

    def __init__(self, model: Provider) -> None:
        self._model = model
        self.shown: list[MapProgress] = []
        self.ends: list[MapProgress] = []

    def show(self, progress: MapProgress) -> None:
        self.shown.append(progress)
        if progress.note:
            self._model.batches.before_end = 0

    def poll(self) -> None:
        pass

    def set_waiting(self, *, is_waiting: bool) -> None:
        pass

    def end(self, progress: MapProgress) -> None:
        self.ends.append(progress)


def test_the_state_of_the_batch_is_in_the_progress_until_it_has_ended(model: Provider) -> None:
    view = View(model)

    def make(_: MapProgress, __: Callable[[], object]) -> View:
        return view

    model.batches.before_end = 1_000
    set_progress_view(make)
    try:
        batch = Chat("tiny", wire="chat", base_url=model.url, api_key="key").map(["a", "b"], batch="provider")
    finally:
        set_progress_view(None)

    notes = [one.note for one in view.shown if one.note]
    assert notes
    assert all(note in status_line(one) for note in notes for one in view.shown if one.note == note)
    assert view.ends[0].note == ""
    assert batch.values == ["yes", "yes"]
