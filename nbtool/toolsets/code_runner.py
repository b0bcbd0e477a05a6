"""What runs code for a toolset, and who offers it. Light: the extension offers a runner whenever it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbtool.messages import Media


@dataclass(frozen=True, slots=True)
class CodeResult:
    """What came of some code: what it printed, its last expression's value, its figures, or its error in a line.

    `omitted` counts the characters that were printed beyond those in `output`.
    """

    output: str = ""
    has_value: bool = False
    value: Any = None
    figures: tuple[Media, ...] = ()
    error: str = ""
    omitted: int = 0


CodeRunner = Callable[[str], CodeResult]
"""Runs code on the calling thread and shows its output as a cell does. A person's interrupt goes through."""


@dataclass(slots=True)
class _Registry:
    runner: CodeRunner | None = None


_registry = _Registry()


def set_code_runner(runner: CodeRunner | None) -> None:
    """Let `notebook_python()` use this runner; None takes the offer back."""
    _registry.runner = runner


def get_code_runner() -> CodeRunner | None:
    """Give the runner that is offered now."""
    return _registry.runner
