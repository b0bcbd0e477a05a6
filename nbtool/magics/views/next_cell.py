"""A line that is printed in the next cell: for what cannot be said in a cell that is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def say_in_next_cell(shell: Any, text: str, is_true: Callable[[], bool]) -> None:
    """Print a line when the next cell begins to run, if it is still true then."""

    def say(_: object) -> None:
        shell.events.unregister("pre_run_cell", say)
        if is_true():
            print(text)  # noqa: T201 - a notice for the person

    shell.events.register("pre_run_cell", say)
